// Lets the stock table builder write our filter units as the table's filter block.
//
// A FilterPolicy hands RocksDB a FilterBitsBuilder whose Finish() gives the bytes of the filter block. Ours takes no keys
// (ElasticTableBuilder has given them to the units already, with the sizes of their entries) and gives the finished block.
// The block is thus placed, checksummed, listed in the metaindex and verified by stock code, with parallel compression too,
// and a stock engine finds a filter of a policy that it does not know and leaves it alone.
#pragma once

#include <memory>
#include <string>

#include "cache/cache_reservation_manager.h"
#include "owners.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "table/table_builder.h"

namespace springbloom {

// Part of the on-disk format: the block's name in the metaindex is "fullfilter." + this.
inline constexpr const char* kUnitBlockPolicyName = "springbloom.FilterUnits";
inline constexpr const char* kUnitBlockMetaName = "fullfilter.springbloom.FilterUnits";

// One table's policy. Not shared between tables: it owns the units of the table under construction.
class UnitBlockPolicy final : public rocksdb::FilterPolicy {
 public:
  UnitBlockPolicy(const FiltersRef& filters, const rocksdb::BlockBasedTableOptions& table_options,
                  const rocksdb::TableBuilderOptions& options);

  const char* Name() const override { return kUnitBlockPolicyName; }
  const char* CompatibilityName() const override { return kUnitBlockPolicyName; }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(const rocksdb::FilterBuildingContext&) const override;
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice& contents) const override;

  // Null until the stock builder asked for a filter: it does not for tables that shall have none
  // (optimize_filters_for_hits at the last level).
  sb_builder* units() const { return units_.get(); }

  // Adds a key to units() and now and then counts what they take.
  void Add(const rocksdb::Slice& key, size_t entry_bytes) {
    sb_builder_add(units_.get(), Bytes(key), entry_bytes);
    CountEntry();
  }
  // The same for the prefix of a key.
  void AddPrefix(const rocksdb::Slice& prefix, size_t entry_bytes) {
    sb_builder_add_prefix(units_.get(), Bytes(prefix), entry_bytes);
    CountEntry();
  }

  rocksdb::Slice Finish() const;

 private:
  static constexpr uint64_t kEntriesPerUpdate = 4096;

  void CountEntry() {
    if (charge_ != nullptr && entries_++ % kEntriesPerUpdate == 0) {
      Charge();
    }
  }
  void Charge() const;

  FiltersRef filters_;
  const bool bytewise_;
  const std::string session_;
  const uint64_t file_number_;
  mutable BuilderPtr units_;
  // Of the memory of units under construction to the block cache; null unless cache_usage_options ask for it, as of stock filters.
  const std::shared_ptr<rocksdb::CacheReservationManager> charge_;
  uint64_t entries_ = 0;
};

}  // namespace springbloom
