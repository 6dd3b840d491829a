// A program that has RocksDB as a shared library and names nothing of Springbloom but an id in an option string. Built and run by
// scripts/test-shared-library.
//
//   program FOLDER [LIBRARY]   opens LIBRARY before
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"

namespace {

void Require(const rocksdb::Status& s) {
  if (!s.ok()) {
    std::fprintf(stderr, "%s\n", s.ToString().c_str());
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && dlopen(argv[2], RTLD_NOW) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.statistics = rocksdb::CreateDBStatistics();
  Require(rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), options,
                                        "table_factory={id=springbloom;budget=1M};listeners=springbloom", &options));
  std::unique_ptr<rocksdb::DB> db;
  Require(rocksdb::DB::Open(options, argv[1], &db));
  constexpr int kKeys = 20000;
  for (int number = 0; number < kKeys; ++number) {
    Require(db->Put(rocksdb::WriteOptions(), std::to_string(2 * number), std::string(100, 'v')));
  }
  Require(db->Flush(rocksdb::FlushOptions()));
  std::string value;
  for (int number = 0; number < 2 * kKeys; ++number) {
    const rocksdb::Status s = db->Get(rocksdb::ReadOptions(), std::to_string(number), &value);
    if (number % 2 == 0 ? !s.ok() : !s.IsNotFound()) {
      std::fprintf(stderr, "key %d: %s\n", number, s.ToString().c_str());
      return 1;
    }
  }
  const uint64_t rejected = options.statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  std::printf("%llu of %d absent keys were rejected by filters\n", static_cast<unsigned long long>(rejected), kKeys);
  return rejected > kKeys / 2 ? 0 : 1;
}
