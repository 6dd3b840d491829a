// Lets the stock table builder write our filter units as the table's filter block.
//
// A FilterPolicy hands RocksDB a FilterBitsBuilder whose Finish() gives the bytes of the filter block. Ours takes no keys
// (ElasticTableBuilder has given them to the units already, with the sizes of their entries) and gives the finished block.
// The block is thus placed, checksummed, listed in the metaindex and verified by stock code, with parallel compression too,
// and a stock engine finds a filter of a policy that it does not know and leaves it alone.
#pragma once

#include <string>

#include "owners.h"
#include "rocksdb/comparator.h"
#include "rocksdb/filter_policy.h"
#include "table/table_builder.h"
#include "write/construction_charge.h"

namespace springbloom {

// Part of the on-disk format: the block's name in the metaindex is "fullfilter." + this.
inline constexpr const char* kUnitBlockPolicyName = "springbloom.FilterUnits";
inline constexpr const char* kUnitBlockMetaName = "fullfilter.springbloom.FilterUnits";

// One table's policy. Not shared between tables: it owns the units of the table under construction.
class UnitBlockPolicy final : public rocksdb::FilterPolicy {
 public:
  UnitBlockPolicy(const FiltersRef& filters, const rocksdb::BlockBasedTableOptions& table_options,
                  const rocksdb::TableBuilderOptions& options)
      : filters_(filters),
        bytewise_(options.internal_comparator.user_comparator() == rocksdb::BytewiseComparator()),
        session_(options.db_session_id),
        file_number_(options.cur_file_num),
        charge_(table_options) {}

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
    if (charge_.IsOn() && entries_++ % kEntriesPerUpdate == 0) {
      charge_.Update(units_.get());
    }
  }

  FiltersRef filters_;
  const bool bytewise_;
  const std::string session_;
  const uint64_t file_number_;
  mutable BuilderPtr units_;
  mutable ConstructionCharge charge_;
  uint64_t entries_ = 0;
};

}  // namespace springbloom
