// Charges the memory of filter units under construction to the block cache, as stock filters do if they are asked to.
#pragma once

#include <memory>

#include "abi.h"
#include "cache/cache_reservation_manager.h"
#include "rocksdb/table.h"

namespace springbloom {

class ConstructionCharge {
 public:
  // Charges nothing unless cache_usage_options ask for it.
  explicit ConstructionCharge(const rocksdb::BlockBasedTableOptions& options) {
    const rocksdb::CacheUsageOptions& usage = options.cache_usage_options;
    const auto found = usage.options_overrides.find(rocksdb::CacheEntryRole::kFilterConstruction);
    const auto charged = found == usage.options_overrides.end() ? usage.options.charged : found->second.charged;
    if (options.block_cache != nullptr && charged == rocksdb::CacheEntryRoleOptions::Decision::kEnabled) {
      reservation_ = std::make_shared<rocksdb::CacheReservationManagerImpl<rocksdb::CacheEntryRole::kFilterConstruction>>(
          options.block_cache);
    }
  }

  bool IsOn() const { return reservation_ != nullptr; }

  // A cache with a strict limit may refuse. As with stock filters, that is no failure of the table.
  void Update(const sb_builder* units) {
    if (IsOn()) {
      reservation_->UpdateCacheReservation(sb_builder_memory_bytes(units)).PermitUncheckedError();
    }
  }

 private:
  std::shared_ptr<rocksdb::CacheReservationManager> reservation_;
};

}  // namespace springbloom
