#include "read/yielding_cache.h"

#include <algorithm>
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

// The caches that pay, or paid, for filters.
struct PayingCaches {
  struct Known {
    std::weak_ptr<Cache> cache;
    std::unique_ptr<YieldingCache> yielding;
  };

  std::mutex mutex;
  std::vector<Known> known;

  // Null if there is none.
  YieldingCache* Find(const std::shared_ptr<Cache>& cache) {
    for (const Known& one : known) {
      const bool has_same_owner = !one.cache.owner_before(cache) && !cache.owner_before(one.cache);
      if (has_same_owner && one.yielding->GetTarget().get() == cache.get()) {
        return one.yielding.get();
      }
    }
    return nullptr;
  }
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

YieldingCache::YieldingCache(Cache& cache) : CacheWrapper(std::shared_ptr<Cache>(std::shared_ptr<void>(), &cache)) {
  AllocatorOf(*this) = AllocatorOf(cache);
}

std::shared_ptr<Cache> YieldingCache::Over(const std::shared_ptr<Cache>& cache) {
  if (cache == nullptr) {
    return cache;
  }
  PayingCaches& paying = Paying();
  std::lock_guard<std::mutex> lock(paying.mutex);
  YieldingCache* const yielding = paying.Find(cache);
  return yielding == nullptr ? cache : std::shared_ptr<Cache>(cache, yielding);
}

void YieldingCache::AddPayment(const std::shared_ptr<Cache>& cache, const CacheUse& use) {
  if (cache.use_count() == 0) {
    return;  // without an owner, nobody tells when it goes
  }
  PayingCaches& paying = Paying();
  std::lock_guard<std::mutex> lock(paying.mutex);
  YieldingCache* yielding = paying.Find(cache);
  if (yielding == nullptr) {
    // They stay as long as the cache: a program gives back blocks that it has pinned, also after it closed its database.
    std::erase_if(paying.known, [](const auto& one) { return one.cache.expired(); });
    paying.known.push_back({cache, std::unique_ptr<YieldingCache>(new YieldingCache(*cache))});
    yielding = paying.known.back().yielding.get();
  }
  std::lock_guard<std::mutex> uses(yielding->mutex_);
  std::erase_if(yielding->uses_, [](const auto& known) { return known.expired(); });
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
