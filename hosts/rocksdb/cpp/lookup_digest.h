// The digest of the key of the lookup in progress, computed once however many tables the lookup meets.
#pragma once

#include "abi.h"
#include "rocksdb/slice.h"

namespace springbloom {

// Remembers the last key of this thread. Comparing a key costs a fraction of hashing it, needs no change to RocksDB's lookup
// path, and cannot be wrong, as the address of a key could.
sb_digest LookupDigest(const rocksdb::Slice& key);

// How many digests were computed in this process, for the proof that a lookup needs one.
uint64_t DigestsComputed();

}  // namespace springbloom
