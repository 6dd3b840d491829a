// Charges the filters' budget to a block cache, so that both live under the cache's capacity.
#include "abi.h"
#include "install/c_options.h"
#include "cache/cache_reservation_manager.h"

// Entries without content in the cache, in steps of 256 KiB; cache statistics count them under the role "misc".
struct springbloom_charge {
  rocksdb::CacheReservationManagerImpl<rocksdb::CacheEntryRole::kMisc> entries;
};

extern "C" const void* springbloom_block_cache(void* rocksdb_options) noexcept {
  const auto* table_options = springbloom::TableOptions(springbloom::OptionsIn(rocksdb_options));
  return table_options == nullptr || table_options->block_cache == nullptr ? nullptr : &table_options->block_cache;
}

extern "C" springbloom_charge* springbloom_charge_new(const void* block_cache) noexcept {
  return new springbloom_charge{rocksdb::CacheReservationManagerImpl<rocksdb::CacheEntryRole::kMisc>(
      *static_cast<const std::shared_ptr<rocksdb::Cache>*>(block_cache))};
}

extern "C" uint64_t springbloom_charge_update(springbloom_charge* charge, uint64_t bytes) noexcept {
  // A cache with a strict limit may refuse: what it granted is what counts.
  const rocksdb::Status s = charge->entries.UpdateCacheReservation(bytes);
  const uint64_t reserved = charge->entries.GetTotalReservedCacheSize();
  if (!s.ok()) {
    charge->entries.UpdateCacheReservation(reserved).PermitUncheckedError();
  }
  return reserved;
}

extern "C" void springbloom_charge_free(springbloom_charge* charge) noexcept { delete charge; }
