// Monkey (SIGMOD'17) on stock RocksDB: filters of their own size for each level.
#pragma once

#include <cstddef>
#include <memory>

#include "rocksdb/filter_policy.h"

namespace springbloom {

enum class StockFilter { kBloom, kRibbon };

// Level i takes a filter with the false positive rate of Bloom filters of bloom_bits[min(i, count - 1)] bits per key; `count` is
// at least 1.
std::shared_ptr<const rocksdb::FilterPolicy> NewLevelFilterPolicy(StockFilter filter, const double* bloom_bits, size_t count);

}  // namespace springbloom
