// Monkey (SIGMOD'17) on stock RocksDB: a Bloom filter of its own size for each level.
#pragma once

#include <cstddef>
#include <memory>

#include "rocksdb/filter_policy.h"

namespace springbloom {

// Level i takes bits_per_key[min(i, count - 1)]; `count` is at least 1.
std::shared_ptr<const rocksdb::FilterPolicy> NewLevelBloomPolicy(const double* bits_per_key, size_t count);

}  // namespace springbloom
