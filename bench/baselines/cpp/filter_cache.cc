#include "filter_cache.h"

#include <mutex>
#include <vector>

#include "rocksdb/advanced_cache.h"

namespace springbloom {
namespace {

using rocksdb::Cache;
using rocksdb::CacheEntryRole;
using rocksdb::CompressionType;
using rocksdb::Slice;
using rocksdb::Status;

class FilterCache final : public rocksdb::CacheWrapper {
 public:
  using CacheWrapper::CacheWrapper;

  ~FilterCache() override {
    for (Handle* handle : kept_) {
      target_->Release(handle);
    }
  }

  const char* Name() const override { return "springbloom.FilterCache"; }

  Status Insert(const Slice& key, ObjectPtr value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                Priority priority, const Slice& compressed, CompressionType type) override {
    switch (helper->role) {
      case CacheEntryRole::kIndexBlock:
        return InsertForGood(key, value, helper, handle);
      case CacheEntryRole::kDataBlock:
        return PassThrough(key, value, helper, handle);
      default:
        return target_->Insert(key, value, helper, charge, handle, priority, compressed, type);
    }
  }

 private:
  // A reference of our own keeps it from being evicted. Two threads may insert the same block: the older one stays
  // referenced, out of the table, until the end; that costs a block at worst once per race.
  Status InsertForGood(const Slice& key, ObjectPtr value, const CacheItemHelper* helper, Handle** handle) {
    Handle* inserted = nullptr;
    Status status = target_->Insert(key, value, helper, 0, &inserted, Priority::HIGH);
    if (!status.ok()) {
      return status;
    }
    if (handle != nullptr) {
      target_->Ref(inserted);
      *handle = inserted;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    kept_.push_back(inserted);
    return status;
  }

  // The caller gets its block and the cache nothing.
  Status PassThrough(const Slice& key, ObjectPtr value, const CacheItemHelper* helper, Handle** handle) {
    if (handle != nullptr) {
      *handle = target_->CreateStandalone(key, value, helper, 0, /*allow_uncharged=*/true);
    } else if (helper->del_cb != nullptr) {
      helper->del_cb(value, memory_allocator());
    }
    return Status::OK();
  }

  std::mutex mutex_;
  std::vector<Handle*> kept_;
};

}  // namespace

std::shared_ptr<Cache> NewFilterCache(size_t capacity_bytes) {
  rocksdb::LRUCacheOptions options;
  options.capacity = capacity_bytes;
  // A shard of a small cache would hold a handful of blocks and be short while others have room.
  options.num_shard_bits = 0;
  options.high_pri_pool_ratio = 1.0;
  // Only blocks count, as for filters in table readers.
  options.metadata_charge_policy = rocksdb::kDontChargeCacheMetadata;
  return std::make_shared<FilterCache>(options.MakeSharedCache());
}

}  // namespace springbloom
