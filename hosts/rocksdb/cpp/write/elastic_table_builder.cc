#include "write/elastic_table_builder.h"

#include <memory>
#include <string>
#include <utility>

#include "cache/cache_reservation_manager.h"
#include "db/dbformat.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/comparator.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb_release.h"
#include "table/block_based/block_based_table_builder.h"

namespace springbloom {

using rocksdb::BlockBasedTableOptions;
using rocksdb::Slice;
using rocksdb::SliceTransform;

namespace {

// A block cache that takes no filter blocks. For table builders that put what they write into the block cache (prepopulate_block_cache):
// filter units are read by the manager, and nobody asks the cache for them.
class UnfilteredCache final : public rocksdb::CacheWrapper {
 public:
  using CacheWrapper::CacheWrapper;

  const char* Name() const override { return "springbloom.UnfilteredCache"; }

  rocksdb::Status Insert(const Slice& key, ObjectPtr value, const CacheItemHelper* helper, size_t charge, Handle** handle,
                         Priority priority, const Slice& compressed, rocksdb::CompressionType type) override {
    if (helper->role != rocksdb::CacheEntryRole::kFilterBlock || handle != nullptr) {
      return target_->Insert(key, value, helper, charge, handle, priority, compressed, type);
    }
    if (helper->del_cb != nullptr) {
      helper->del_cb(value, memory_allocator());
    }
    return rocksdb::Status::OK();
  }
};

std::shared_ptr<rocksdb::CacheReservationManager> ChargeFor(const rocksdb::BlockBasedTableOptions& options) {
  constexpr auto kFilters = rocksdb::CacheEntryRole::kFilterConstruction;
  const rocksdb::CacheUsageOptions& usage = options.cache_usage_options;
  const auto found = usage.options_overrides.find(kFilters);
  const auto charged = found == usage.options_overrides.end() ? usage.options.charged : found->second.charged;
  if (options.block_cache == nullptr || charged != rocksdb::CacheEntryRoleOptions::Decision::kEnabled) {
    return nullptr;
  }
  return std::make_shared<rocksdb::CacheReservationManagerImpl<kFilters>>(options.block_cache);
}

// Lets the stock table builder write our filter units as the table's filter block. It owns the units of one table under construction.
//
// A FilterPolicy hands RocksDB a FilterBitsBuilder whose Finish() gives the bytes of the filter block. Ours takes no keys
// (ElasticTableBuilder has given them to the units already, with the sizes of their entries) and gives the finished block.
// The block is thus placed, checksummed, listed in the metaindex and verified by stock code, with parallel compression too,
// and a stock engine finds a filter of a policy that it does not know and leaves it alone.
class UnitBlockPolicy final : public rocksdb::FilterPolicy {
 public:
  UnitBlockPolicy(const FiltersRef& filters, const BlockBasedTableOptions& table_options,
                  const rocksdb::TableBuilderOptions& options)
      : filters_(filters),
        bytewise_(options.internal_comparator.user_comparator() == rocksdb::BytewiseComparator()),
        session_(options.db_session_id),
        file_number_(options.cur_file_num),
        charge_(ChargeFor(table_options)) {}

  const char* Name() const override { return kUnitBlockPolicyName; }
  const char* CompatibilityName() const override { return kUnitBlockPolicyName; }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(const rocksdb::FilterBuildingContext&) const override;
  // Asked when a block is parsed for a block cache, which does not keep it (UnfilteredCache).
  rocksdb::FilterBitsReader* GetFilterBitsReader(const Slice&) const override { return nullptr; }

  // Null until the stock builder asked for a filter: it does not for tables that shall have none
  // (optimize_filters_for_hits at the last level).
  sb_builder* units() const { return units_.get(); }

  // An entry was added to units(). Now and then counts what they take.
  void CountEntry() {
    if (charge_ != nullptr && entries_++ % kEntriesPerUpdate == 0) {
      Charge();
    }
  }

  Slice Finish() const {
    const sb_bytes block = sb_builder_finish(units_.get());
    Charge();
    return ToSlice(block);
  }

 private:
  static constexpr uint64_t kEntriesPerUpdate = 4096;

  // A cache with a strict limit may refuse. As with stock filters, that is no failure of the table.
  void Charge() const {
    if (charge_ != nullptr) {
      charge_->UpdateCacheReservation(sb_builder_memory_bytes(units_.get())).PermitUncheckedError();
    }
  }

  const FiltersRef filters_;
  const bool bytewise_;
  const std::string session_;
  const uint64_t file_number_;
  mutable BuilderPtr units_;
  // Of the memory of units under construction to the block cache; null unless cache_usage_options ask for it, as of stock filters.
  const std::shared_ptr<rocksdb::CacheReservationManager> charge_;
  uint64_t entries_ = 0;
};

// No `override`, as older releases declare only some of these; what a newer one adds is pure there.
class FinishedUnits final : public rocksdb::FilterBitsBuilder {
 public:
  explicit FinishedUnits(const UnitBlockPolicy* policy) : policy_(policy) {}

  void AddKey(const Slice&) {}
  void AddKeyAndAlt(const Slice&, const Slice&) {}
  size_t EstimateEntriesAdded() { return sb_builder_key_count(policy_->units()); }

  Slice Finish(std::unique_ptr<const char[]>*) { return policy_->Finish(); }
  using FilterBitsBuilder::Finish;

  size_t CalculateSpace(size_t) { return sb_builder_bytes_estimate(policy_->units()); }
  // Asked for by partitioned filters alone, which a table with filter units does not have.
  size_t ApproximateNumEntries(size_t bytes) { return bytes; }
  double EstimatedFpRate(size_t, size_t) { return 1.0; }

 private:
  const UnitBlockPolicy* policy_;  // the stock builder's options have a share in it
};

rocksdb::FilterBitsBuilder* UnitBlockPolicy::GetBuilderWithContext(const rocksdb::FilterBuildingContext&) const {
  units_.reset(sb_builder_new(filters_.get(), bytewise_ ? 1 : 0, Bytes(session_), file_number_));
  // Without one the table gets no filter.
  return units_ == nullptr ? nullptr : new FinishedUnits(this);
}

// The stock builder with one method overridden: everything else that RocksDB asks of a builder is answered by stock code.
class ElasticTableBuilder final : public rocksdb::BlockBasedTableBuilder {
 public:
  // `table_options` have the policy. `prefix_extractor` null: the table gets no units over prefixes; else those over keys if `adds_keys`.
  ElasticTableBuilder(std::shared_ptr<UnitBlockPolicy> policy, std::shared_ptr<const SliceTransform> prefix_extractor,
                      bool adds_keys, const BlockBasedTableOptions& table_options,
                      const rocksdb::TableBuilderOptions& builder_options, rocksdb::WritableFileWriter* file)
      : BlockBasedTableBuilder(table_options, builder_options, file),
        policy_(std::move(policy)),
        timestamp_bytes_(builder_options.internal_comparator.user_comparator()->timestamp_size()),
        prefix_extractor_(std::move(prefix_extractor)),
        adds_keys_(adds_keys) {}

  void Add(const Slice& internal_key, const Slice& value) override {
    sb_builder* const units = policy_->units();
    if (units != nullptr && rocksdb::ExtractValueType(internal_key) != rocksdb::kTypeRangeDeletion) {
      const Slice key = rocksdb::ExtractUserKeyAndStripTimestamp(internal_key, timestamp_bytes_);
      const size_t entry_bytes = internal_key.size() + value.size();
      if (adds_keys_) {
        sb_builder_add(units, Bytes(key), entry_bytes);
        policy_->CountEntry();
      }
      if (prefix_extractor_ != nullptr && prefix_extractor_->InDomain(key)) {
        sb_builder_add_prefix(units, Bytes(prefix_extractor_->Transform(key)), entry_bytes);
        policy_->CountEntry();
      }
    }
    BlockBasedTableBuilder::Add(internal_key, value);
  }

 private:
  const std::shared_ptr<UnitBlockPolicy> policy_;
  const size_t timestamp_bytes_;
  const std::shared_ptr<const SliceTransform> prefix_extractor_;
  const bool adds_keys_;
};

}  // namespace

rocksdb::TableBuilder* NewElasticTableBuilder(const FiltersRef& filters, BlockBasedTableOptions options,
                                              const rocksdb::TableBuilderOptions& builder_options,
                                              rocksdb::WritableFileWriter* file) {
  std::shared_ptr<const SliceTransform> prefix_extractor;
  if (FiltersPrefixes(options)) {
    prefix_extractor = builder_options.moptions.prefix_extractor;
  }
  const bool adds_keys = options.whole_key_filtering || prefix_extractor == nullptr;
  auto policy = std::make_shared<UnitBlockPolicy>(filters, options, builder_options);
  options.filter_policy = policy;
  if (options.prepopulate_block_cache != BlockBasedTableOptions::PrepopulateBlockCache::kDisable &&
      options.block_cache != nullptr) {
    options.block_cache = std::make_shared<UnfilteredCache>(options.block_cache);
  }
  if (adds_keys) {
    release::GiveKeysToFilters(&options);
  }
  // Segments do what partitions are for, and a partitioned builder would ask for one block a partition.
  options.partition_filters = false;
  return new ElasticTableBuilder(std::move(policy), std::move(prefix_extractor), adds_keys, options, builder_options, file);
}

}  // namespace springbloom
