// A strict block cache of which the options have no share that tells when it goes: blocks are pinned as with stock filters, and given back
// after the database was closed and another one has another cache.
#include <vector>

#include "check.h"
#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"

using namespace springbloom_test;

namespace {

constexpr int kNumbers = 4000;

// As a program lends a cache that it owns: with a share of its own, or with none.
std::shared_ptr<rocksdb::Cache> Lent(rocksdb::Cache& cache, bool has_share) {
  return has_share ? std::shared_ptr<rocksdb::Cache>(&cache, [](rocksdb::Cache*) {})
                   : std::shared_ptr<rocksdb::Cache>(std::shared_ptr<void>(), &cache);
}

void PinBlocks(const rocksdb::Options& options, const std::string& path, std::vector<rocksdb::PinnableSlice>* pinned) {
  const auto db = Open(options, path);
  for (int number = 0; number < kNumbers; number += 2) {
    CheckOk(db->Put(rocksdb::WriteOptions(), Key(number), std::string(1000, 'v')), "Put");
  }
  CheckOk(db->Flush(rocksdb::FlushOptions()), "Flush");
  std::string value;
  for (int number = 1; number < kNumbers; number += 2) {
    Check(db->Get(rocksdb::ReadOptions(), Key(number), &value).IsNotFound(), "an absent key is found");
  }
  for (size_t i = 0; i < pinned->size(); ++i) {
    const int number = static_cast<int>(i) * 16;
    CheckOk(db->Get(rocksdb::ReadOptions(), db->DefaultColumnFamily(), Key(number), &(*pinned)[i]), "Get");
  }
}

}  // namespace

extern "C" int springbloom_test_lent_cache(void* rocksdb_options, const char* path, char* error, size_t error_size) {
  return Run(error, error_size, [&] {
    rocksdb::Options options = springbloom::OptionsIn(rocksdb_options);
    const auto use = [&](std::shared_ptr<rocksdb::Cache> cache) {
      options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>()->block_cache = std::move(cache);
      CheckOk(options.table_factory->ConfigureFromString(rocksdb::ConfigOptions(), "block_size=4096"), "ConfigureFromString");
      CheckOk(options.table_factory->ValidateOptions(options, options), "ValidateOptions");
    };
    for (const bool has_share : {true, false}) {
      const auto first = rocksdb::NewLRUCache(1 << 20, /*num_shard_bits=*/0, /*strict_capacity_limit=*/true);
      const auto second = rocksdb::NewLRUCache(1 << 20, /*num_shard_bits=*/0, /*strict_capacity_limit=*/true);
      // Half of the cache is charged, and these take more than the other half.
      std::vector<rocksdb::PinnableSlice> pinned(170);
      std::vector<rocksdb::PinnableSlice> others(1);
      const std::string folder = path + std::string(has_share ? "/shared" : "/lent");
      use(Lent(*first, has_share));
      PinBlocks(options, folder + "1", &pinned);
      use(Lent(*second, has_share));
      PinBlocks(options, folder + "2", &others);
      others.clear();
      Check(first->GetPinnedUsage() > 170 * 4096, "the blocks are not pinned");
      pinned.clear();
      use(rocksdb::NewLRUCache(1 << 20));
      Check(first->GetPinnedUsage() == 0, "blocks stay pinned");
    }
  });
}
