// Charges the filters' budget to a block cache, so that both live under the cache's capacity.
#include "install/cache_charge.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "cache/cache_key.h"
#include "cache/typed_cache.h"

namespace springbloom {

namespace {

constexpr auto kRole = rocksdb::CacheEntryRole::kMisc;

// Tells that the cache may have run short of room. Freed with its last share.
struct Alarm {
  std::shared_ptr<void> context;
  void (*ring)(void*) SB_NOEXCEPT;
};

// An entry of the cache that nothing pins. It is looked up often, so that the cache evicts it when hardly anything else can go: that is
// how a cache tells that its capacity was lowered, or that pinned entries took it. The cache evicts with locks held, and the thread may
// hold others: this sets a flag and wakes a thread, and calls no cache.
struct Sentinel {
  Alarm alarm;

  ~Sentinel() { alarm.ring(alarm.context.get()); }
};

// The pinned entries of the charge, without content; cache statistics count them under the role "misc".
//
// They are small compared with a shard of the cache and many, so that every shard holds about the same share of the charge. An entry costs
// the cache about 100 bytes of its own, so there are not more for a larger charge.
class Charge {
 public:
  Charge(std::shared_ptr<rocksdb::Cache> cache, Alarm alarm)
      : cache_(std::move(cache)), placeholders_(cache_.get()), alarm_(std::move(alarm)) {
    for (auto& key : sentinels_) {
      key = rocksdb::CacheKey::CreateUniqueForCacheLifetime(cache_.get());
    }
  }

  ~Charge() {
    End(/*permit=*/0);
    for (const auto& key : sentinels_) {
      cache_->Erase(key.AsSlice());
    }
  }

  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  uint64_t Capacity() const { return cache_->GetCapacity(); }

  // What the charge may take: at most this many eighths of the cache, and no more than what others leave that they have pinned, less an
  // eighth of the cache for blocks that come and go. Where a cache with a strict limit has no room, RocksDB fails reads and a repair drops
  // tables.
  uint64_t Room(unsigned eighths) {
    Watch();
    const uint64_t capacity = cache_->GetCapacity();
    const uint64_t pinned = cache_->GetPinnedUsage();
    const uint64_t others = pinned - std::min<uint64_t>(pinned, bytes_.load());
    const uint64_t left = capacity - std::min(capacity, others + capacity / kPartForBlocks);
    const uint64_t share = capacity / 8 * eighths;
    // An entry is rounded up, and may not exceed the share where more would be refused.
    const uint64_t most = cache_->HasStrictCapacityLimit() ? share - std::min(share, kEntryBytesMin) : share;
    return std::min(left, most);
  }

  uint64_t Charged() const { return bytes_.load(); }

  // Moves the charge to `bytes`, rounded up to an entry. Gives what the cache granted; all if the permit has ended.
  uint64_t Update(uint64_t bytes, uint64_t permit) {
    Shrink(bytes);
    if (bytes_.load() < bytes) {
      // The capacity may fall before the cache is looked at again.
      Watch();
      if (!Grow(bytes, permit)) {
        return bytes;
      }
    }
    return bytes_.load();
  }

  // Any thread may end the charge while another one moves it by an earlier permit, which stops then. Gives the bytes given back, or about
  // to be.
  uint64_t End(uint64_t permit) {
    const uint64_t bytes = bytes_.load();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      permit_ = std::max(permit_, permit);
    }
    Shrink(0);
    return bytes;
  }

 private:
  using Entry = std::pair<rocksdb::Cache::Handle*, uint64_t>;

  static constexpr uint64_t kEntryBytesMin = 4 << 10;
  static constexpr uint64_t kEntriesMax = 8192;
  static constexpr size_t kRefusedMin = 8;
  static constexpr uint64_t kPartForBlocks = 8;
  static constexpr size_t kSentinelBytes = 128;

  // As far as a cache with a strict limit has room in half of its shards. Memtables fill whole shards of a small cache: which shard an
  // entry comes to is chance. `false`: the permit has ended.
  bool Grow(uint64_t bytes, uint64_t permit) {
    const uint64_t entry_bytes = std::max(bytes / kEntriesMax, kEntryBytesMin);
    size_t granted = bytes_.load() / entry_bytes;
    for (size_t refused = 0; bytes_.load() < bytes && refused <= granted + kRefusedMin;) {
      const auto key = rocksdb::CacheKey::CreateUniqueForCacheLifetime(cache_.get());
      rocksdb::Cache::Handle* handle = nullptr;
      // Before it is there: the one that ends the charge counts it.
      bytes_ += entry_bytes;
      const bool is_granted = placeholders_.Insert(key.AsSlice(), entry_bytes, &handle).ok();
      if (handle == nullptr) {
        bytes_ -= entry_bytes;
        ++refused;
      } else if (!is_granted) {
        // A tiered cache may refuse an entry that it has taken.
        Release({handle, entry_bytes});
        ++refused;
      } else if (Keep({handle, entry_bytes}, permit)) {
        ++granted;
      } else {
        Release({handle, entry_bytes});
        return false;
      }
    }
    return true;
  }

  bool Keep(Entry entry, uint64_t permit) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (permit >= permit_) {
      entries_.push_back(entry);
    }
    return permit >= permit_;
  }

  // Each thread that needs the room takes part: a thread that loses its core meanwhile holds a single entry back.
  void Shrink(uint64_t bytes) {
    for (;;) {
      Entry last;
      {
        std::lock_guard<std::mutex> lock(mutex_);
        if (entries_.empty() || bytes_.load() - entries_.back().second < bytes) {
          return;
        }
        last = entries_.back();
        entries_.pop_back();
      }
      Release(last);
    }
  }

  void Release(const Entry& entry) {
    placeholders_.ReleaseAndEraseIfLastRef(entry.first);
    bytes_ -= entry.second;
  }

  // Keeps the sentinels among the entries that are evicted last.
  void Watch() {
    rocksdb::BasicTypedCacheInterface<Sentinel, kRole> cache(cache_.get());
    for (const auto& key : sentinels_) {
      if (auto* handle = cache.Lookup(key.AsSlice())) {
        cache.Release(handle);
        continue;
      }
      auto sentinel = std::make_unique<Sentinel>(Sentinel{alarm_});
      if (cache.Insert(key.AsSlice(), sentinel.get(), kSentinelBytes, nullptr, rocksdb::Cache::Priority::HIGH).ok()) {
        sentinel.release();
      }
    }
  }

  const std::shared_ptr<rocksdb::Cache> cache_;
  rocksdb::PlaceholderCacheInterface<kRole> placeholders_;
  const Alarm alarm_;
  // A few, because each lies in one shard of the cache.
  rocksdb::CacheKey sentinels_[4];
  // With those that are on their way into the cache or out of it.
  std::atomic<uint64_t> bytes_{0};
  // Of the entries; never held while the cache is called.
  std::mutex mutex_;
  std::vector<Entry> entries_;
  // The first by which entries are kept.
  uint64_t permit_ = 0;
};

Charge* Of(void* charge) { return static_cast<Charge*>(charge); }

}  // namespace

constinit const sb_cache_calls kBlockCacheCalls = {
    .charge = [](const void* cache, void (*alarm)(void*) noexcept, void (*free)(void*) noexcept,
                 void* context) noexcept -> void* {
      const auto& shared = *static_cast<const std::shared_ptr<rocksdb::Cache>*>(cache);
      return new Charge(shared, Alarm{std::shared_ptr<void>(context, free), alarm});
    },
    .capacity = [](void* charge) noexcept { return Of(charge)->Capacity(); },
    .room = [](void* charge, unsigned eighths) noexcept { return Of(charge)->Room(eighths); },
    .charged = [](void* charge) noexcept { return Of(charge)->Charged(); },
    .update = [](void* charge, uint64_t bytes, uint64_t permit) noexcept { return Of(charge)->Update(bytes, permit); },
    .end = [](void* charge, uint64_t permit) noexcept { return Of(charge)->End(permit); },
    .release = [](void* charge) noexcept { delete Of(charge); }};

}  // namespace springbloom
