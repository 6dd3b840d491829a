// Charges the filters' budget to a block cache, so that both live under the cache's capacity.
#include "install/cache_charge.h"

#include "cache/cache_reservation_manager.h"
#include "install/c_options.h"

namespace springbloom {

namespace {

// Entries without content in the cache, in steps of 256 KiB; cache statistics count them under the role "misc".
using Charge = rocksdb::CacheReservationManagerImpl<rocksdb::CacheEntryRole::kMisc>;

// Callbacks of springbloom_abi.h; `charge` is a Charge*.
void* NewCharge(const void* cache) noexcept {
  return new Charge(*static_cast<const std::shared_ptr<rocksdb::Cache>*>(cache));
}

uint64_t UpdateCharge(void* charge, uint64_t bytes) noexcept {
  auto* entries = static_cast<Charge*>(charge);
  // A cache with a strict limit may refuse: what it granted is what counts.
  const rocksdb::Status s = entries->UpdateCacheReservation(bytes);
  const uint64_t reserved = entries->GetTotalReservedCacheSize();
  if (!s.ok()) {
    entries->UpdateCacheReservation(reserved).PermitUncheckedError();
  }
  return reserved;
}

void FreeCharge(void* charge) noexcept { delete static_cast<Charge*>(charge); }

}  // namespace

constinit const sb_cache_calls kBlockCacheCalls = {&NewCharge, &UpdateCharge, &FreeCharge};

}  // namespace springbloom

extern "C" const void* springbloom_block_cache(void* rocksdb_options) noexcept {
  const auto* table_options = springbloom::TableOptions(springbloom::OptionsIn(rocksdb_options));
  return table_options == nullptr || table_options->block_cache == nullptr ? nullptr : &table_options->block_cache;
}
