// A block cache that takes no filter blocks.
#pragma once

#include "rocksdb/advanced_cache.h"

namespace springbloom {

// For table builders that put what they write into the block cache (prepopulate_block_cache): filter units are read by the manager, and
// nobody asks the cache for them.
class UnfilteredCache final : public rocksdb::CacheWrapper {
 public:
  using CacheWrapper::CacheWrapper;

  const char* Name() const override { return "springbloom.UnfilteredCache"; }

  rocksdb::Status Insert(const rocksdb::Slice& key, ObjectPtr value, const CacheItemHelper* helper, size_t charge,
                         Handle** handle, Priority priority, const rocksdb::Slice& compressed,
                         rocksdb::CompressionType type) override {
    if (helper->role != rocksdb::CacheEntryRole::kFilterBlock || handle != nullptr) {
      return target_->Insert(key, value, helper, charge, handle, priority, compressed, type);
    }
    if (helper->del_cb != nullptr) {
      helper->del_cb(value, memory_allocator());
    }
    return rocksdb::Status::OK();
  }
};

}  // namespace springbloom
