// Block caches that the Rust crate cannot make, with a strict limit, tiered or of a program's own: tests/alone.
#include <atomic>

#include "check.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"

using namespace springbloom_test;

namespace {

using SharedCache = std::shared_ptr<rocksdb::Cache>;

SharedCache& From(void* cache) { return *static_cast<SharedCache*>(cache); }

std::atomic<uint64_t> pinned_asked{0};

// A program's own cache, as one that counts.
class Wrapped final : public rocksdb::CacheWrapper {
 public:
  using CacheWrapper::CacheWrapper;

  const char* Name() const override { return "Wrapped"; }

  // Some caches walk over all their entries for it.
  size_t GetPinnedUsage() const override {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    pinned_asked += std::string(name) == "springbloom-mai" ? 0 : 1;
    return CacheWrapper::GetPinnedUsage();
  }
};

}  // namespace

// How often other threads than the one that looks at caches have asked wrapped ones what is pinned.
extern "C" uint64_t springbloom_test_pinned_asked() { return pinned_asked; }

// Gives the options a cache of `capacity` bytes with a strict limit, of which memtables may take `memtables` bytes (0: none there), and in
// which index and filter blocks lie. The filters are Bloom filters of 10 bits. The caller deletes what this returns.
extern "C" void* springbloom_test_set_strict_cache(void* rocksdb_options, size_t capacity, int shard_bits, size_t memtables) {
  auto* cache = new SharedCache(rocksdb::NewLRUCache(capacity, shard_bits, /*strict_capacity_limit=*/true));
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = *cache;
  table.cache_index_and_filter_blocks = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (memtables != 0) {
    options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(memtables, *cache);
  }
  return cache;
}

// Gives the options a cache of `capacity` bytes, 30% of which are for compressed blocks; in a program's own if it `is_wrapped`. The caller
// deletes what this returns.
extern "C" void* springbloom_test_set_tiered_cache(void* rocksdb_options, size_t capacity, int is_wrapped) {
  rocksdb::LRUCacheOptions primary;
  rocksdb::TieredCacheOptions tiered;
  tiered.cache_opts = &primary;
  tiered.total_capacity = capacity;
  tiered.compressed_secondary_ratio = 0.3;
  auto* cache = new SharedCache(rocksdb::NewTieredCache(tiered));
  if (is_wrapped != 0) {
    *cache = std::make_shared<Wrapped>(*cache);
  }
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = *cache;
  springbloom::OptionsIn(rocksdb_options).table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return cache;
}

extern "C" void springbloom_test_delete_cache(void* cache) { delete &From(cache); }
extern "C" void springbloom_test_set_cache_capacity(void* cache, size_t capacity) { From(cache)->SetCapacity(capacity); }
extern "C" size_t springbloom_test_cache_usage(void* cache) { return From(cache)->GetUsage(); }
extern "C" size_t springbloom_test_cache_pinned(void* cache) { return From(cache)->GetPinnedUsage(); }
// How many options, databases and others have the cache, the caller left out.
extern "C" size_t springbloom_test_cache_users(void* cache) { return From(cache).use_count() - 1; }
