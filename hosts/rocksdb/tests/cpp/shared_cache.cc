// A block cache with a strict limit, which the Rust crate cannot make: tests/shared_cache.rs and tests/chaos.
#include "check.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/table.h"
#include "rocksdb/write_buffer_manager.h"

using namespace springbloom_test;

namespace {

// Of the options that were given a cache last.
std::shared_ptr<rocksdb::Cache>& TheCache() {
  static auto* cache = new std::shared_ptr<rocksdb::Cache>;
  return *cache;
}

}  // namespace

// Gives the options a cache of `capacity` bytes with a strict limit, of which memtables may take `memtables` bytes (0: none there), and in
// which index blocks lie.
extern "C" void springbloom_test_set_strict_cache(void* rocksdb_options, size_t capacity, size_t memtables) {
  TheCache() = rocksdb::NewLRUCache(capacity, -1, /*strict_capacity_limit=*/true);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = TheCache();
  table.cache_index_and_filter_blocks = true;
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  if (memtables != 0) {
    options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(memtables, TheCache());
  }
}

extern "C" void springbloom_test_set_cache_capacity(size_t capacity) { TheCache()->SetCapacity(capacity); }
extern "C" size_t springbloom_test_cache_usage() { return TheCache()->GetUsage(); }
extern "C" size_t springbloom_test_cache_pinned() { return TheCache()->GetPinnedUsage(); }
