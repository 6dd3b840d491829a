// Filter units are not put into a block cache, where nobody reads them.
#include "check.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/convenience.h"

using namespace springbloom_test;

namespace {

void CheckHasDataAndNoFilters(rocksdb::Cache& cache, const std::string& after) {
  int filters = 0;
  int data = 0;
  cache.ApplyToAllEntries(
      [&](const rocksdb::Slice&, rocksdb::Cache::ObjectPtr, size_t, const rocksdb::Cache::CacheItemHelper* helper) {
        filters += helper != nullptr && helper->role == rocksdb::CacheEntryRole::kFilterBlock;
        data += helper != nullptr && helper->role == rocksdb::CacheEntryRole::kDataBlock;
      },
      rocksdb::Cache::ApplyToAllEntriesOptions());
  Check(data > 0, after + ": no data block is in the cache");
  Check(filters == 0, after + ": " + std::to_string(filters) + " filter blocks are in the cache");
}

void CheckAnswers(rocksdb::DB& db) {
  std::string value;
  for (int number = 0; number < 4000; ++number) {
    Check(db.Get(rocksdb::ReadOptions(), Key(number), &value).ok() == (number % 2 == 0), Key(number));
  }
}

}  // namespace

extern "C" int springbloom_test_prepopulated_cache(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
    options.disable_auto_compactions = true;
    constexpr bool kByCompactions = SPRINGBLOOM_ROCKSDB >= 110800;
    const std::string when = kByCompactions ? "kFlushAndCompaction" : "kFlushOnly";
    CheckOk(
        options.table_factory->ConfigureFromString(
            rocksdb::ConfigOptions(), "prepopulate_block_cache=" + when + ";block_cache=8M;cache_index_and_filter_blocks=true"),
        "ConfigureFromString");
    const auto db = Open(options, path);
    for (int number = 0; number < 2000; ++number) {
      CheckOk(db->Put(rocksdb::WriteOptions(), Key(2 * number), std::string(50, 'v')), "Put");
    }
    CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
    rocksdb::Cache& cache = *springbloom::TableOptions(options)->block_cache;
    CheckHasDataAndNoFilters(cache, "a flush");
    CheckAnswers(*db);

    cache.EraseUnRefEntries();
    rocksdb::CompactRangeOptions all;
    all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    CheckOk(db->CompactRange(all, nullptr, nullptr), "CompactRange");
    if (kByCompactions) {
      CheckHasDataAndNoFilters(cache, "a compaction");
    }
    CheckAnswers(*db);
  });
}
