// Block caches as the readers of tables have them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "owners.h"
#include "rocksdb/advanced_cache.h"

namespace springbloom {

// The use of a block cache that pays for filters.
using CacheUse = std::shared_ptr<sb_cache_use>;

// A block cache that pays for filters. Where it refuses an entry because its limit is strict, they give it their room, and the entry is
// tried again: what RocksDB fails for then, whatever reads, is not for the filters.
class YieldingCache final : public rocksdb::CacheWrapper {
 public:
  // That cache as readers of tables are to have it: itself, if it never paid for filters. What this returns is a share in `cache`.
  static std::shared_ptr<rocksdb::Cache> Over(const std::shared_ptr<rocksdb::Cache>& cache);
  // `cache` pays for filters while `use` lives.
  static void AddPayment(const std::shared_ptr<rocksdb::Cache>& cache, const CacheUse& use);

  const char* Name() const override { return target_->Name(); }
  rocksdb::Status Insert(const rocksdb::Slice& key, ObjectPtr value, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const rocksdb::Slice& compressed_value,
                         rocksdb::CompressionType type) override;

 private:
  explicit YieldingCache(rocksdb::Cache& cache);
  std::vector<CacheUse> Uses();

  // Held for a moment.
  std::mutex mutex_;
  std::vector<std::weak_ptr<sb_cache_use>> uses_;
};

}  // namespace springbloom
