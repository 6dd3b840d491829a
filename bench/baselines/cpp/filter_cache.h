// A block cache that spends its capacity on filters alone: a partitioned filter of stock RocksDB gets exactly the memory
// that other filters get.
#pragma once

#include <memory>

#include "rocksdb/cache.h"

namespace springbloom {

// Filter blocks live in an LRU cache of `capacity_bytes`, top-level filter blocks charged to it. Index blocks are kept for
// the life of the cache and charged nothing, as table readers keep them without a cache. Data blocks are not kept.
std::shared_ptr<rocksdb::Cache> NewFilterCache(size_t capacity_bytes);

}  // namespace springbloom
