// Charges the filters' budget to a block cache, so that both live under the cache's capacity.
#include "install/cache_charge.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cache/cache_key.h"
#include "cache/typed_cache.h"
#include "install/c_options.h"

namespace springbloom {

namespace {

// Entries without content in the cache; cache statistics count them under the role "misc".
//
// They are small beside a shard of the cache and many, so that every shard holds about the same share of the charge. RocksDB's own
// reservations have 256 KiB an entry and a shard of a small cache has 512 KiB: some shards would keep no data block. An entry costs the
// cache about 100 bytes of its own, so there are not more for a larger charge.
class Charge {
 public:
  explicit Charge(std::shared_ptr<rocksdb::Cache> cache) : cache_(std::move(cache)) {}

  ~Charge() { Shrink(0); }

  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;

  // Moves the charge to `bytes`, rounded up to an entry. Gives what the cache granted: half of it stays for blocks, and one with a strict
  // limit may refuse. Where such a cache has no room, RocksDB fails reads and a repair drops tables: nothing is rounded up beyond half.
  uint64_t Update(uint64_t bytes) {
    const uint64_t most = cache_.get()->GetCapacity() / 2;
    bytes = std::min(bytes, cache_.get()->HasStrictCapacityLimit() ? most - std::min(most, kEntryBytesMin) : most);
    Shrink(bytes);
    Grow(bytes);
    return total_bytes_;
  }

 private:
  static constexpr uint64_t kEntryBytesMin = 4 << 10;
  static constexpr uint64_t kEntriesMax = 8192;

  void Grow(uint64_t bytes) {
    const uint64_t entry_bytes = std::max(bytes / kEntriesMax, kEntryBytesMin);
    while (total_bytes_ < bytes) {
      const auto key = rocksdb::CacheKey::CreateUniqueForCacheLifetime(cache_.get());
      rocksdb::Cache::Handle* handle = nullptr;
      if (!cache_.Insert(key.AsSlice(), entry_bytes, &handle).ok()) {
        return;
      }
      entries_.emplace_back(handle, entry_bytes);
      total_bytes_ += entry_bytes;
    }
  }

  void Shrink(uint64_t bytes) {
    while (!entries_.empty() && total_bytes_ - entries_.back().second >= bytes) {
      const auto [handle, entry_bytes] = entries_.back();
      cache_.ReleaseAndEraseIfLastRef(handle);
      total_bytes_ -= entry_bytes;
      entries_.pop_back();
    }
  }

  rocksdb::PlaceholderSharedCacheInterface<rocksdb::CacheEntryRole::kMisc> cache_;
  std::vector<std::pair<rocksdb::Cache::Handle*, uint64_t>> entries_;
  uint64_t total_bytes_ = 0;
};

// Callbacks of springbloom_abi.h; `charge` is a Charge*.
void* NewCharge(const void* cache) noexcept { return new Charge(*static_cast<const std::shared_ptr<rocksdb::Cache>*>(cache)); }

uint64_t UpdateCharge(void* charge, uint64_t bytes) noexcept { return static_cast<Charge*>(charge)->Update(bytes); }

void FreeCharge(void* charge) noexcept { delete static_cast<Charge*>(charge); }

}  // namespace

constinit const sb_cache_calls kBlockCacheCalls = {&NewCharge, &UpdateCharge, &FreeCharge};

}  // namespace springbloom

extern "C" const void* springbloom_block_cache(void* rocksdb_options) noexcept {
  const auto* table_options = springbloom::TableOptions(springbloom::OptionsIn(rocksdb_options));
  return table_options == nullptr || table_options->block_cache == nullptr ? nullptr : &table_options->block_cache;
}
