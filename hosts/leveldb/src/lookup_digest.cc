#include "lookup_digest.h"

#include <cstdint>
#include <cstring>

#include "filters.h"

namespace springbloom {

namespace {

// The key that the thread looked up last. Longer ones are rare, and hashed for each table.
struct LastKey {
  size_t size = SIZE_MAX;
  sb_digest digest = {};
  char bytes[488];
};
thread_local LastKey last;

void CountLookup(const sb_column_family& family) {
  // One lookup counts for as many, to keep threads off each other's cache line. A prime number, so that threads that ask databases in turn
  // do not count for the same one each time.
  constexpr uint64_t kStep = 61;
  thread_local uint64_t lookups = 0;
  if (++lookups % kStep == 0) {
    sb_column_family_count_lookups(&family, kStep);
  }
}

}  // namespace

sb_digest LookupDigest(const leveldb::Slice& user_key, const sb_column_family& family) {
  if (user_key.size() == last.size && std::memcmp(user_key.data(), last.bytes, last.size) == 0) {
    return last.digest;
  }
  CountLookup(family);
  const sb_digest digest = sb_digest_of(Bytes(user_key));
  if (user_key.size() <= sizeof(last.bytes)) {
    if (last.size == SIZE_MAX) {
      sb_set_thread_bytes(sizeof(last));
    }
    last.size = user_key.size();
    last.digest = digest;
    std::memcpy(last.bytes, user_key.data(), user_key.size());
  }
  return digest;
}

}  // namespace springbloom
