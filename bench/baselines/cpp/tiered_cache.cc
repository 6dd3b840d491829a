// A block cache with a compressed one behind it, for which the C interface has no call.
#include <cstdint>
#include <memory>

#include "install/c_options.h"
#include "rocksdb/cache.h"

namespace {
// RocksDB's documentation has no recommendation; its stress test and benchmarks use this share.
constexpr double kCompressedShare = 0.3;
}  // namespace

// The caller frees it. Databases that were opened with it keep what they need.
extern "C" void* springbloom_baselines_new_tiered_cache(uint64_t capacity_bytes) noexcept {
  rocksdb::LRUCacheOptions primary;
  rocksdb::TieredCacheOptions options;
  options.cache_opts = &primary;
  options.cache_type = rocksdb::PrimaryCacheType::kCacheTypeLRU;
  options.total_capacity = capacity_bytes;
  options.compressed_secondary_ratio = kCompressedShare;
  return new std::shared_ptr<rocksdb::Cache>(rocksdb::NewTieredCache(options));
}

extern "C" void springbloom_baselines_free_tiered_cache(void* cache) noexcept {
  delete static_cast<std::shared_ptr<rocksdb::Cache>*>(cache);
}

// Gives block-based options this cache. 0 on success.
extern "C" int springbloom_baselines_use_tiered_cache(void* rocksdb_options, const void* cache) noexcept {
  rocksdb::Options& options = springbloom::OptionsIn(rocksdb_options);
  const rocksdb::BlockBasedTableOptions* tables = springbloom::TableOptions(options);
  if (tables == nullptr) {
    return 1;
  }
  rocksdb::BlockBasedTableOptions with_cache = *tables;
  with_cache.no_block_cache = false;
  with_cache.block_cache = *static_cast<const std::shared_ptr<rocksdb::Cache>*>(cache);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(with_cache));
  return 0;
}
