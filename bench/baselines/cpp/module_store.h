// The modules of all tables of a database: a file, and a cache of what was read from it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "cache/typed_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/file_system.h"
#include "rocksdb/status.h"
#include "table/block_based/filter_policy_internal.h"

namespace springbloom {

// A module in memory: a stock filter.
struct Module {
  std::unique_ptr<char[]> bytes;
  std::unique_ptr<rocksdb::FilterBitsReader> filter;
};

class ModuleStore {
 public:
  ModuleStore(std::shared_ptr<rocksdb::FileSystem> fs, std::string path, bool direct_reads,
              std::shared_ptr<rocksdb::Cache> cache);
  ModuleStore(const ModuleStore&) = delete;
  ModuleStore& operator=(const ModuleStore&) = delete;

  // Appends a module and gives its place.
  rocksdb::Status Append(const rocksdb::Slice& module, uint64_t* offset);

  // Whether the module there may have `key`, or cannot be read. A module that is not in the cache is read and counted as a filter block.
  bool MayMatch(uint64_t offset, uint32_t size, const rocksdb::Slice& key);

 private:
  using ModuleCache = rocksdb::BasicTypedSharedCacheInterface<Module, rocksdb::CacheEntryRole::kFilterBlock>;

  rocksdb::Status Open();
  std::unique_ptr<Module> Read(uint64_t offset, uint32_t size);

  const std::shared_ptr<rocksdb::FileSystem> fs_;
  const std::string path_;
  const bool direct_reads_;
  ModuleCache cache_;
  // Tells this store's modules from others in a cache that they share.
  const uint64_t cache_id_;
  std::mutex mutex_;
  std::unique_ptr<rocksdb::FSWritableFile> writing_;
  std::unique_ptr<rocksdb::FSRandomAccessFile> reading_;
  uint64_t end_ = 0;
};

}  // namespace springbloom
