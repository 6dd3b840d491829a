// Digests of keys, computed once for each lookup, which asks several tables.
#pragma once

#include "leveldb/slice.h"
#include "springbloom_abi.h"

namespace springbloom {

sb_digest LookupDigest(const leveldb::Slice& user_key, const sb_column_family& family);

}  // namespace springbloom
