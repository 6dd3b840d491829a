// How the budget is charged to block caches.
#pragma once

#include <memory>

#include "abi.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"

namespace springbloom {

// A cache is a std::shared_ptr<rocksdb::Cache>.
extern const sb_cache_calls kBlockCacheCalls;

// Shared by the copies of a table factory, which is what options and open databases have a cache by.
using CacheUse = std::shared_ptr<sb_cache_use>;

// Has the block cache of these options pay for the budget, if it is charged, while `use` lives. An error if none can pay.
rocksdb::Status UseCache(const sb_filters* filters, const rocksdb::BlockBasedTableOptions& options, CacheUse* use);

}  // namespace springbloom
