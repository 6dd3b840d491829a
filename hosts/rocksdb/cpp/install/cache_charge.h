// How the budget is charged to block caches.
#pragma once

#include "abi.h"

namespace springbloom {

// A cache is a std::shared_ptr<rocksdb::Cache>.
extern const sb_cache_calls kBlockCacheCalls;

}  // namespace springbloom
