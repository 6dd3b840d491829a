// Writes 20,000 keys, and looks up those and as many absent ones. Built against the installed library and another RocksDB than this
// repository's, by scripts/test-dist.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "springbloom.h"

namespace {

constexpr int kKeys = 20000;

void Require(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) {
    std::fprintf(stderr, "failed: %s: %s\n", what, status.ToString().c_str());
    std::exit(1);
  }
}
void Require(bool holds, const char* what) { Require(holds ? rocksdb::Status() : rocksdb::Status::Aborted(), what); }

std::string Key(int number) {
  char text[16];
  std::snprintf(text, sizeof(text), "%010d", number);
  return text;
}

// Lookups that filters ended.
int Rejected() {
  std::string metrics;
  Require(springbloom::GetMetrics(&metrics), "metrics");
  const std::string name = "springbloom_visits_total{outcome=\"rejected\"} ";
  const size_t at = metrics.find(name);
  Require(at != std::string::npos, metrics.c_str());
  return std::atoi(metrics.c_str() + at + name.size());
}

}  // namespace

int main(int argc, char** argv) {
  Require(argc == 2, "usage: FOLDER");
  springbloom::Register();
  rocksdb::Options options;
  options.create_if_missing = true;
  const char* settings = "table_factory={id=springbloom;budget=1M};listeners=springbloom";
  Require(rocksdb::GetOptionsFromString(rocksdb::ConfigOptions(), options, settings, &options), settings);
  std::unique_ptr<rocksdb::DB> db;
#if ROCKSDB_MAJOR >= 11
  Require(rocksdb::DB::Open(options, argv[1], &db), "open");
#else
  rocksdb::DB* opened = nullptr;
  Require(rocksdb::DB::Open(options, argv[1], &opened), "open");
  db.reset(opened);
#endif
  for (int number = 0; number < kKeys; ++number) {
    Require(db->Put(rocksdb::WriteOptions(), Key(2 * number), "value"), "put");
  }
  Require(db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr), "compact");
  springbloom::FamilyStatus family;
  Require(springbloom::GetStatus(db.get(), db->DefaultColumnFamily(), &family), "status");
  Require(family.is_active && family.tables_with_units == 1 && family.tables_without_units == 0, "its table has units");

  int rejected = 0;
  for (int round = 0; round < 100 && rejected < kKeys * 99 / 100; ++round) {
    const int before = Rejected();
    std::string value;
    for (int number = 0; number < kKeys; ++number) {
      Require(db->Get(rocksdb::ReadOptions(), Key(2 * number), &value), "a key is found");
      Require(db->Get(rocksdb::ReadOptions(), Key(2 * number + 1), &value).IsNotFound(), "another is not");
    }
    Require(springbloom::WaitIdle(std::chrono::seconds(10)), "units are loaded");
    rejected = Rejected() - before;
  }
  Require(rejected >= kKeys * 99 / 100, "units that are loaded reject absent keys");
  std::printf("RocksDB %s: %d keys are found, %d of %d absent ones are rejected\n", rocksdb::GetRocksVersionAsString().c_str(),
              kKeys, rejected, kKeys);
  return 0;
}
