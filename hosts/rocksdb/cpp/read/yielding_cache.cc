#include "read/yielding_cache.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace springbloom {

using rocksdb::Cache;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

// A private member of a cache, which decides where readers allocate blocks. CacheWrapper leaves it null, and has no way to set it.
using Allocator = std::shared_ptr<rocksdb::MemoryAllocator>;
Allocator& AllocatorOf(Cache& cache);
template <Allocator Cache::* kMember>
struct AllocatorAccess {
  friend Allocator& AllocatorOf(Cache& cache) { return cache.*kMember; }
};
template struct AllocatorAccess<&Cache::memory_allocator_>;

template <typename T>
std::shared_ptr<T> WithoutShare(T* object) {
  return std::shared_ptr<T>(std::shared_ptr<void>(), object);
}

// The caches that pay, or paid, for filters, by where they lie. What stands here stays: a program may give back blocks that it has pinned
// after it closed its databases, and may own a cache without a share that tells when it goes. A new cache in the same place takes it over.
struct PayingCaches {
  std::mutex mutex;
  std::unordered_map<const Cache*, std::unique_ptr<YieldingCache>> by_cache;
};

PayingCaches& Paying() {
  // Never destroyed: a database that outlives the statics of this file can still open tables.
  static auto* const paying = new PayingCaches;
  return *paying;
}

// While a charge ends, others may bring it back: nothing is charged before and after a try that counts, and several must count: what
// others ended just now may have come back within one. They fail soon, since a slow try gives a charge the time to come back.
constexpr int kTries = 32;
constexpr int kUnchargedTries = 4;

}  // namespace

YieldingCache::YieldingCache(Cache& cache) : CacheWrapper(WithoutShare(&cache)) {}

std::shared_ptr<Cache> YieldingCache::Over(const std::shared_ptr<Cache>& cache) {
  PayingCaches& paying = Paying();
  std::lock_guard<std::mutex> lock(paying.mutex);
  const auto found = paying.by_cache.find(cache.get());
  return found == paying.by_cache.end() ? cache : std::shared_ptr<Cache>(cache, found->second.get());
}

void YieldingCache::AddPayment(const std::shared_ptr<Cache>& cache, const CacheUse& use) {
  PayingCaches& paying = Paying();
  std::lock_guard<std::mutex> lock(paying.mutex);
  std::unique_ptr<YieldingCache>& yielding = paying.by_cache[cache.get()];
  if (yielding == nullptr) {
    yielding.reset(new YieldingCache(*cache));
  }
  std::lock_guard<std::mutex> uses(yielding->mutex_);
  std::erase_if(yielding->uses_, [](const auto& known) { return known.expired(); });
  if (yielding->memory_allocator() != cache->memory_allocator()) {
    AllocatorOf(*yielding) = WithoutShare(cache->memory_allocator());
  }
  yielding->uses_.push_back(use);
}

std::vector<CacheUse> YieldingCache::Uses() {
  std::vector<CacheUse> uses;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& known : uses_) {
    if (CacheUse use = known.lock(); use != nullptr) {
      uses.push_back(std::move(use));
    }
  }
  return uses;
}

Status YieldingCache::Insert(const Slice& key, ObjectPtr value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                             Priority priority, const Slice& compressed_value, rocksdb::CompressionType type) {
  Status s = target_->Insert(key, value, helper, charge, handle, priority, compressed_value, type);
  if (!s.IsMemoryLimit()) [[likely]] {
    return s;
  }
  const std::vector<CacheUse> uses = Uses();
  bool has_yielded = false;
  for (int tries = 0, uncharged = 0; s.IsMemoryLimit() && tries < kTries && uncharged < kUnchargedTries; ++tries) {
    const auto yielded =
        std::count_if(uses.begin(), uses.end(), [](const CacheUse& use) { return sb_cache_use_yield(use.get()) != 0; });
    has_yielded = has_yielded || yielded != 0;
    uncharged = yielded != 0 ? 0 : uncharged + 1;
    s = target_->Insert(key, value, helper, charge, handle, priority, compressed_value, type);
  }
  if (has_yielded && s.ok()) {
    std::for_each(uses.begin(), uses.end(), [](const CacheUse& use) { sb_cache_use_has_yielded(use.get()); });
  }
  return s;
}

}  // namespace springbloom
