// Charges the filters' budget to a block cache, so that both live under the cache's capacity.
#include "install/cache_charge.h"

#include <algorithm>
#include <atomic>
#include <semaphore>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/cache_key.h"
#include "cache/typed_cache.h"
#include "install/c_options.h"

namespace springbloom {

namespace {

constexpr auto kRole = rocksdb::CacheEntryRole::kMisc;

// The pinned entries of the charge, without content; cache statistics count them under the role "misc".
//
// They are small beside a shard of the cache and many, so that every shard holds about the same share of the charge. RocksDB's own
// reservations have 256 KiB an entry and a shard of a small cache has 512 KiB: some shards would keep no data block. An entry costs the
// cache about 100 bytes of its own, so there are not more for a larger charge.
class Entries {
 public:
  explicit Entries(rocksdb::Cache* cache) : cache_(cache) {}

  uint64_t Bytes() const { return bytes_; }

  // Up to `bytes`, rounded up to an entry, or as far as a cache with a strict limit has room in half of its shards; no further once it
  // `is_to_stop`. Memtables fill whole shards of a small cache: which shard an entry comes to is chance.
  void Grow(uint64_t bytes, const std::atomic<bool>& is_to_stop) {
    const uint64_t entry_bytes = std::max(bytes / kEntriesMax, kEntryBytesMin);
    size_t refused = 0;
    while (bytes_ < bytes && refused <= handles_.size() + kRefusedMin && !is_to_stop.load(std::memory_order_relaxed)) {
      const auto key = rocksdb::CacheKey::CreateUniqueForCacheLifetime(cache_.get());
      rocksdb::Cache::Handle* handle = nullptr;
      if (!cache_.Insert(key.AsSlice(), entry_bytes, &handle).ok()) {
        ++refused;
        continue;
      }
      handles_.emplace_back(handle, entry_bytes);
      bytes_ += entry_bytes;
    }
  }

  void Shrink(uint64_t bytes) {
    while (!handles_.empty() && bytes_ - handles_.back().second >= bytes) {
      const auto [handle, entry_bytes] = handles_.back();
      cache_.ReleaseAndEraseIfLastRef(handle);
      bytes_ -= entry_bytes;
      handles_.pop_back();
    }
  }

  static constexpr uint64_t kEntryBytesMin = 4 << 10;

 private:
  static constexpr uint64_t kEntriesMax = 8192;
  static constexpr size_t kRefusedMin = 8;

  rocksdb::PlaceholderCacheInterface<kRole> cache_;
  std::vector<std::pair<rocksdb::Cache::Handle*, uint64_t>> handles_;
  uint64_t bytes_ = 0;
};

// What the charge and its sentinels share. A sentinel may stay in the cache for longer than the charge.
struct Guard {
  // Guards the entries. A mutex could not be asked by the thread that holds it, within whose call a sentinel may be evicted.
  std::binary_semaphore idle{1};
  std::atomic<bool> is_evicted{false};
  // Null once the charge has ended.
  Entries* entries = nullptr;
  rocksdb::Cache* cache = nullptr;
  // Of the cache, when it was looked at last.
  uint64_t capacity = 0;
  // RocksDB's tiered cache evicts with a mutex held that its Release takes.
  bool is_tiered = false;
  void (*alarm)(void*) SB_NOEXCEPT = nullptr;
  void* context = nullptr;

  // Called by the cache within Insert or SetCapacity of any thread, with locks of the cache held: GetCapacity would wait for ever, and
  // Release does not unless the cache is tiered. The charge goes at once, so that nothing fails for want of room; who is alarmed charges
  // again what may be. That of a tiered cache goes when who is alarmed looks at it.
  void SentinelEvicted() {
    is_evicted.store(true);
    // Otherwise a call of the charge's owner is under way, which looks at its end.
    if (!idle.try_acquire()) {
      return;
    }
    if (!is_tiered) {
      Release();
      return;
    }
    if (entries != nullptr) {
      alarm(context);
    }
    idle.release();
  }

  // Ends the turn of whoever acquired `idle`, and answers evictions that came meanwhile.
  void Release() {
    do {
      if (is_evicted.exchange(false) && entries != nullptr && IsShortOfRoom()) {
        entries->Shrink(0);
        alarm(context);
      }
      idle.release();
    } while (is_evicted.load() && idle.try_acquire());
  }

 private:
  // A sentinel also goes where many blocks come and go. Then the cache is as full as it was, and hardly more of it is pinned.
  bool IsShortOfRoom() const {
    return cache->GetUsage() < capacity - capacity / 8 || cache->GetPinnedUsage() > capacity - capacity / 16;
  }
};

class Busy {
 public:
  explicit Busy(Guard& guard) : guard_(guard) { guard_.idle.acquire(); }
  ~Busy() { guard_.Release(); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  Guard& guard_;
};

// An entry of the cache that nothing pins. It is looked up often, so that the cache evicts it when hardly anything else can go: that is
// how a cache tells that its capacity was lowered, or that pinned entries took it.
struct Sentinel {
  std::shared_ptr<Guard> guard;

  ~Sentinel() { guard->SentinelEvicted(); }
};

class Charge {
 public:
  Charge(std::shared_ptr<rocksdb::Cache> cache, void (*alarm)(void*) SB_NOEXCEPT, void* context)
      : cache_(std::move(cache)), entries_(cache_.get()), guard_(std::make_shared<Guard>()) {
    guard_->entries = &entries_;
    guard_->cache = cache_.get();
    guard_->is_tiered = std::string_view(cache_->Name()) == "TieredCache";
    guard_->alarm = alarm;
    guard_->context = context;
    for (auto& key : sentinels_) {
      key = rocksdb::CacheKey::CreateUniqueForCacheLifetime(cache_.get());
    }
  }

  ~Charge() {
    const Busy busy(*guard_);
    guard_->entries = nullptr;
    entries_.Shrink(0);
  }

  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  uint64_t Capacity() const { return cache_->GetCapacity(); }

  // What the charge may take: at most so many eighths of the cache, and no more than what others leave that they have pinned, less an
  // eighth of the cache for blocks that come and go. Where a cache with a strict limit has no room, RocksDB fails reads and a repair drops
  // tables.
  uint64_t Room(unsigned eighths) {
    const uint64_t capacity = cache_->GetCapacity();
    const Busy busy(*guard_);
    guard_->capacity = capacity;
    const uint64_t pinned = cache_->GetPinnedUsage();
    const uint64_t others = pinned - std::min(pinned, entries_.Bytes());
    const uint64_t left = capacity - std::min(capacity, others + capacity / kPartForBlocks);
    const uint64_t share = capacity / 8 * eighths;
    // An entry is rounded up, and may not exceed the share where more would be refused.
    const uint64_t most = cache_->HasStrictCapacityLimit() ? share - std::min(share, Entries::kEntryBytesMin) : share;
    return std::min(left, most);
  }

  // Moves the charge to `bytes`. Gives what the cache granted.
  uint64_t Update(uint64_t bytes) {
    const Busy busy(*guard_);
    entries_.Shrink(bytes);
    entries_.Grow(bytes, guard_->is_evicted);
    return entries_.Bytes();
  }

  // Keeps the sentinels among the entries that are evicted last.
  void Watch() {
    const Busy busy(*guard_);
    rocksdb::BasicTypedCacheInterface<Sentinel, kRole> cache(cache_.get());
    for (const auto& key : sentinels_) {
      if (auto* handle = cache.Lookup(key.AsSlice())) {
        cache.Release(handle);
        continue;
      }
      auto sentinel = std::make_unique<Sentinel>(Sentinel{guard_});
      if (cache.Insert(key.AsSlice(), sentinel.get(), kSentinelBytes, nullptr, rocksdb::Cache::Priority::HIGH).ok()) {
        sentinel.release();
      }
    }
  }

 private:
  static constexpr uint64_t kPartForBlocks = 8;
  static constexpr size_t kSentinelBytes = 128;

  const std::shared_ptr<rocksdb::Cache> cache_;
  Entries entries_;
  const std::shared_ptr<Guard> guard_;
  // A few, because each lies in one shard of the cache.
  rocksdb::CacheKey sentinels_[4];
};

// Callbacks of springbloom_abi.h; `charge` is a Charge*.
void* NewCharge(const void* cache, void (*alarm)(void*) SB_NOEXCEPT, void* context) noexcept {
  return new Charge(*static_cast<const std::shared_ptr<rocksdb::Cache>*>(cache), alarm, context);
}

uint64_t CapacityOfCache(void* charge) noexcept { return static_cast<Charge*>(charge)->Capacity(); }

uint64_t RoomForCharge(void* charge, unsigned eighths) noexcept { return static_cast<Charge*>(charge)->Room(eighths); }

uint64_t UpdateCharge(void* charge, uint64_t bytes) noexcept { return static_cast<Charge*>(charge)->Update(bytes); }

void WatchCharge(void* charge) noexcept { static_cast<Charge*>(charge)->Watch(); }

void FreeCharge(void* charge) noexcept { delete static_cast<Charge*>(charge); }

}  // namespace

constinit const sb_cache_calls kBlockCacheCalls = {&NewCharge,    &CapacityOfCache, &RoomForCharge,
                                                   &UpdateCharge, &WatchCharge,     &FreeCharge};

}  // namespace springbloom

extern "C" const void* springbloom_block_cache(void* rocksdb_options) noexcept {
  const auto* table_options = springbloom::TableOptions(springbloom::OptionsIn(rocksdb_options));
  return table_options == nullptr || table_options->block_cache == nullptr ? nullptr : &table_options->block_cache;
}
