#include "write/unit_block_policy.h"

#include "rocksdb/comparator.h"

namespace springbloom {

namespace {

// No `override`, as older releases declare only some of these; what a newer one adds is pure there.
class FinishedUnits final : public rocksdb::FilterBitsBuilder {
 public:
  explicit FinishedUnits(const UnitBlockPolicy* policy) : policy_(policy) {}

  void AddKey(const rocksdb::Slice&) {}
  void AddKeyAndAlt(const rocksdb::Slice&, const rocksdb::Slice&) {}
  size_t EstimateEntriesAdded() { return sb_builder_key_count(policy_->units()); }

  rocksdb::Slice Finish(std::unique_ptr<const char[]>*) { return policy_->Finish(); }
  using FilterBitsBuilder::Finish;

  size_t CalculateSpace(size_t) { return sb_builder_bytes_estimate(policy_->units()); }
  // Asked for by partitioned filters alone, which a table with filter units does not have.
  size_t ApproximateNumEntries(size_t bytes) { return bytes; }
  double EstimatedFpRate(size_t, size_t) { return 1.0; }

 private:
  const UnitBlockPolicy* policy_;  // the stock builder's options have a share in it
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

}  // namespace

UnitBlockPolicy::UnitBlockPolicy(const FiltersRef& filters, const rocksdb::BlockBasedTableOptions& table_options,
                                 const rocksdb::TableBuilderOptions& options)
    : filters_(filters),
      bytewise_(options.internal_comparator.user_comparator() == rocksdb::BytewiseComparator()),
      session_(options.db_session_id),
      file_number_(options.cur_file_num),
      charge_(ChargeFor(table_options)) {}

// A cache with a strict limit may refuse. As with stock filters, that is no failure of the table.
void UnitBlockPolicy::Charge() const {
  if (charge_ != nullptr) {
    charge_->UpdateCacheReservation(sb_builder_memory_bytes(units_.get())).PermitUncheckedError();
  }
}

rocksdb::FilterBitsBuilder* UnitBlockPolicy::GetBuilderWithContext(const rocksdb::FilterBuildingContext&) const {
  units_.reset(sb_builder_new(filters_.get(), bytewise_ ? 1 : 0, Bytes(session_), file_number_));
  // Without one the table gets no filter.
  return units_ == nullptr ? nullptr : new FinishedUnits(this);
}

rocksdb::Slice UnitBlockPolicy::Finish() const {
  const sb_bytes block = sb_builder_finish(units_.get());
  Charge();
  return ToSlice(block);
}

// Asked when a block is parsed for a block cache, which does not keep it (UnfilteredCache).
rocksdb::FilterBitsReader* UnitBlockPolicy::GetFilterBitsReader(const rocksdb::Slice&) const { return nullptr; }

}  // namespace springbloom
