// The digest of the key of the lookup in progress, computed once however many tables the lookup meets.
#pragma once

#include "abi.h"
#include "rocksdb/slice.h"

namespace springbloom {

class ColumnFamily;

// Remembers the last key of this thread, and compares it, which costs a fraction of hashing. `family` is the one that is asked, for which a
// lookup is counted with each digest that is computed.
sb_digest LookupDigest(const rocksdb::Slice& key, const ColumnFamily& family);

// The same for a batch, whose keys meet a table one after the other before they meet the next one. `index` is the key's place
// in the batch, below MultiGetContext::MAX_BATCH_SIZE.
sb_digest BatchDigest(const rocksdb::Slice& key, size_t index, const ColumnFamily& family);

}  // namespace springbloom
