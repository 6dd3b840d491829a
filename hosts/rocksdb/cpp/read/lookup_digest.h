// The digest of the key of the lookup in progress, computed once however many tables the lookup meets.
#pragma once

#include "abi.h"
#include "rocksdb/slice.h"

namespace springbloom {

// Remembers the last key of this thread. Comparing a key costs a fraction of hashing it, needs no change to RocksDB's lookup
// path, and cannot be wrong, as the address of a key could.
sb_digest LookupDigest(const rocksdb::Slice& key);

// The same for a batch, whose keys meet a table one after the other before they meet the next one. `index` is the key's place
// in the batch, below MultiGetContext::MAX_BATCH_SIZE.
sb_digest BatchDigest(const rocksdb::Slice& key, size_t index);

}  // namespace springbloom
