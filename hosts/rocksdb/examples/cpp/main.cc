// Elastic filters from C++: one call to register, then an option string.
#include <cstdio>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "springbloom.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  springbloom::Register();
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::Status s =
      rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), options,
                                    "table_factory={id=springbloom;budget=64M;block_size=8K};listeners=springbloom", &options);
  std::unique_ptr<rocksdb::DB> db;
  if (s.ok()) {
    s = rocksdb::DB::Open(options, argv[1], &db);
  }
  if (s.ok()) {
    s = db->Put(rocksdb::WriteOptions(), "key", "value");
  }
  if (s.ok()) {
    s = db->Flush(rocksdb::FlushOptions());
  }
  std::string value;
  if (s.ok()) {
    s = db->Get(rocksdb::ReadOptions(), "key", &value);
  }
  if (s.ok()) {
    s = springbloom::SetBudget(32 << 20);
  }
  std::string metrics;
  if (s.ok()) {
    s = springbloom::GetMetrics(&metrics);
  }
  if (!s.ok() || value != "value") {
    std::fprintf(stderr, "%s\n", s.ToString().c_str());
    return 1;
  }
  std::printf("%s\n%s", db->GetOptions().table_factory->GetPrintableOptions().c_str(), metrics.c_str());
  return 0;
}
