#include "read/lookup_digest.h"

#include <atomic>
#include <cstring>

#include "table/multiget_context.h"

namespace springbloom {

namespace {

std::atomic<uint64_t> digests_computed{0};

sb_digest ComputeDigest(const rocksdb::Slice& key) {
  // Published in steps, to keep threads off each other's cache line.
  constexpr uint64_t kStep = 64;
  thread_local uint64_t computed = 0;
  if (++computed % kStep == 0) {
    digests_computed.fetch_add(kStep, std::memory_order_relaxed);
  }
  return sb_digest_of(reinterpret_cast<const uint8_t*>(key.data()), key.size());
}

// Longer keys than `kBytes` are rare, and hashed each time rather than copied.
template <size_t kBytes>
struct RememberedKey {
  size_t size = SIZE_MAX;
  sb_digest digest{};
  char bytes[kBytes];

  sb_digest DigestOf(const rocksdb::Slice& key) {
    if (size == key.size() && std::memcmp(bytes, key.data(), size) == 0) {
      return digest;
    }
    const sb_digest computed = ComputeDigest(key);
    if (key.size() <= kBytes) {
      size = key.size();
      digest = computed;
      std::memcpy(bytes, key.data(), size);
    }
    return computed;
  }
};

thread_local RememberedKey<1024> last;
thread_local RememberedKey<128> batch[rocksdb::MultiGetContext::MAX_BATCH_SIZE];

static_assert(sizeof(last) + sizeof(batch) + sizeof(uint64_t) == kLookupThreadBytes);

}  // namespace

sb_digest LookupDigest(const rocksdb::Slice& key) { return last.DigestOf(key); }

sb_digest BatchDigest(const rocksdb::Slice& key, size_t index) { return batch[index].DigestOf(key); }

uint64_t DigestsComputed() noexcept { return digests_computed.load(std::memory_order_relaxed); }

}  // namespace springbloom
