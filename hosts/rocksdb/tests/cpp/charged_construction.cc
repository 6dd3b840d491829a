#include <algorithm>
#include <cstring>

#include "check.h"
#include "rocksdb/sst_file_writer.h"

using namespace springbloom_test;

namespace {

// The test's units take 32 bytes a key.
constexpr int kKeysWritten = 300'000;
constexpr size_t kUnitBytes = kKeysWritten * 32;

}  // namespace

// Memory of units under construction is charged to a block cache that is asked to pay, and a cache that refuses fails nothing.
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
          for (int number = 0; number < kKeysWritten; ++number) {
            CheckOk(writer.Put(Key(2 * number), "v"), "Put");
            most = std::max(most, table_options->block_cache->GetPinnedUsage());
          }
          CheckOk(writer.Finish(), "Finish");
        }
        const std::string what = std::string(is_charged ? "charged" : "not charged") + (is_strict ? ", strict: " : ": ") +
                                 std::to_string(most) + " bytes at most, " +
                                 std::to_string(table_options->block_cache->GetPinnedUsage()) + " at the end";
        const size_t least = is_strict ? 512 << 10 : kUnitBytes;
        Check(is_charged ? most >= least && most <= 3 * kUnitBytes : most == 0, what);
        Check(table_options->block_cache->GetPinnedUsage() == 0, what);
      }
    }
  });
}
