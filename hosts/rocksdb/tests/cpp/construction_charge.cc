// Memory of units under construction is charged to a block cache that is asked to pay, and a cache that refuses fails nothing.
#include <algorithm>

#include "check.h"
#include "rocksdb/sst_file_writer.h"

using namespace springbloom_test;

namespace {

// The test's units take 32 bytes a key.
constexpr int kChargedKeys = 300'000;
constexpr uint64_t kChargedUnitBytes = uint64_t{32} * kChargedKeys;

}  // namespace

extern "C" int springbloom_test_charged_construction(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
    auto* table_options = options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
    for (const bool is_charged : {true, false}) {
      for (const bool is_strict : {false, true}) {
        table_options->block_cache = rocksdb::NewLRUCache(is_strict ? 1 << 20 : 64 << 20, 0, is_strict);
        table_options->cache_usage_options.options_overrides[rocksdb::CacheEntryRole::kFilterConstruction].charged =
            is_charged ? rocksdb::CacheEntryRoleOptions::Decision::kEnabled : rocksdb::CacheEntryRoleOptions::Decision::kDisabled;
        size_t most = 0;
        {
          rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options);
          CheckOk(writer.Open(path + std::string(".sst")), "Open");
          for (int number = 0; number < kChargedKeys; ++number) {
            CheckOk(writer.Put(Key(2 * number), "v"), "Put");
            most = std::max(most, table_options->block_cache->GetPinnedUsage());
          }
          CheckOk(writer.Finish(), "Finish");
        }
        const std::string what = std::string(is_charged ? "charged" : "not charged") + (is_strict ? ", strict: " : ": ") +
                                 std::to_string(most) + " bytes at most, " +
                                 std::to_string(table_options->block_cache->GetPinnedUsage()) + " at the end";
        const size_t least = is_strict ? 512 << 10 : kChargedUnitBytes;
        Check(is_charged ? most >= least && most <= 3 * kChargedUnitBytes : most == 0, what);
        Check(table_options->block_cache->GetPinnedUsage() == 0, what);
      }
    }
  });
}
