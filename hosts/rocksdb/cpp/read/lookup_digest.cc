#include "read/lookup_digest.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "read/column_family.h"
#include "table/multiget_context.h"

namespace springbloom {

namespace {

sb_digest ComputeDigest(const rocksdb::Slice& key, const ColumnFamily& family) {
  // One lookup counts for as many, to keep threads off each other's cache line. A prime number, so that threads that ask databases in turn
  // do not count for the same one each time.
  constexpr uint64_t kStep = 61;
  thread_local uint64_t computed = 0;
  if (++computed % kStep == 0) {
    family.CountLookups(kStep);
  }
  return sb_digest_of(Bytes(key));
}

uint64_t Word(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

// For keys of 8 to 64 bytes, which most are, a call of memcmp takes longer than this.
bool AreEqual(const char* a, const char* b, size_t size) {
  if (size < 8 || size > 64) {
    return std::memcmp(a, b, size) == 0;
  }
  for (size_t at = 0; at + 8 < size; at += 8) {
    if (Word(a + at) != Word(b + at)) {
      return false;
    }
  }
  return Word(a + size - 8) == Word(b + size - 8);
}

// Keys with their digests, in one block that grows with the keys that the thread looks up. Longer ones than `kSlotBytesMax` allows are
// rare, and hashed each time rather than copied. No destructor: the compiler would guard each access. `ThreadKeysEnd` frees the blocks.
template <size_t kSlots, size_t kSlotBytesMax>
class RememberedKeys {
 public:
  sb_digest DigestOf(const rocksdb::Slice& key, size_t index, const ColumnFamily& family) {
    if (Head* const head = At(index); head != nullptr && head->size == key.size() &&
                                      AreEqual(reinterpret_cast<const char*>(head + 1), key.data(), key.size())) {
      return head->digest;
    }
    const sb_digest computed = ComputeDigest(key, family);
    if (HasRoomFor(key.size())) {
      Head* const head = At(index);
      *head = {key.size(), computed};
      std::memcpy(head + 1, key.data(), key.size());
    }
    return computed;
  }

  // What the allocator takes for the block.
  size_t bytes() const { return slots_ == nullptr ? 0 : kSlots * slot_bytes_ + 16; }

  void Free() {
    std::free(slots_);
    slots_ = nullptr;
    slot_bytes_ = 0;
  }

 private:
  struct Head {  // the key follows
    size_t size;
    sb_digest digest;
  };
  static constexpr size_t kNoKey = SIZE_MAX;

  Head* At(size_t index) { return slots_ == nullptr ? nullptr : reinterpret_cast<Head*>(slots_ + index * slot_bytes_); }

  bool HasRoomFor(size_t key_bytes) { return sizeof(Head) + key_bytes <= slot_bytes_ || Grow(sizeof(Head) + key_bytes); }

  // Forgets all keys if it can make slots of this many bytes.
  bool Grow(size_t needed_bytes);

  char* slots_ = nullptr;
  size_t slot_bytes_ = 0;
};

struct ThreadKeys {
  RememberedKeys<1, 4096> last;
  RememberedKeys<rocksdb::MultiGetContext::MAX_BATCH_SIZE, 512> batch;
  bool has_ended = false;
};
thread_local ThreadKeys keys;

struct ThreadKeysEnd {
  bool awaited = false;
  // Other thread-local objects may still look up after this.
  ~ThreadKeysEnd() {
    keys.has_ended = true;
    keys.last.Free();
    keys.batch.Free();
  }
};
thread_local ThreadKeysEnd end;

template <size_t kSlots, size_t kSlotBytesMax>
bool RememberedKeys<kSlots, kSlotBytesMax>::Grow(size_t needed_bytes) {
  if (needed_bytes > kSlotBytesMax || keys.has_ended) {
    return false;
  }
  size_t slot_bytes = 64;
  while (slot_bytes < needed_bytes) {
    slot_bytes *= 2;
  }
  char* const slots = static_cast<char*>(std::malloc(kSlots * slot_bytes));
  if (slots == nullptr) {
    return false;
  }
  Free();
  slots_ = slots;
  slot_bytes_ = slot_bytes;
  for (size_t index = 0; index < kSlots; ++index) {
    At(index)->size = kNoKey;
  }
  end.awaited = true;  // its destructor runs only if it is used
  sb_set_host_bytes_of_thread(keys.last.bytes() + keys.batch.bytes());
  return true;
}

}  // namespace

sb_digest LookupDigest(const rocksdb::Slice& key, const ColumnFamily& family) { return keys.last.DigestOf(key, 0, family); }

sb_digest BatchDigest(const rocksdb::Slice& key, size_t index, const ColumnFamily& family) {
  return keys.batch.DigestOf(key, index, family);
}

}  // namespace springbloom
