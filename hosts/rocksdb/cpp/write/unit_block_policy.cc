#include "write/unit_block_policy.h"

#include "rocksdb_release.h"

namespace springbloom {

namespace {

class FinishedUnits final : public release::FilterBitsBuilder {
 public:
  explicit FinishedUnits(const UnitBlockPolicy* policy) : policy_(policy) {}

  void AddKey(const rocksdb::Slice&) override {}
  void AddKeyAndAlt(const rocksdb::Slice&, const rocksdb::Slice&) override {}
  size_t EstimateEntriesAdded() override { return sb_builder_key_count(policy_->units()); }

  rocksdb::Slice Finish(std::unique_ptr<const char[]>*) override { return policy_->Finish(); }
  using FilterBitsBuilder::Finish;

  size_t CalculateSpace(size_t) override { return sb_builder_bytes_estimate(policy_->units()); }
  // Asked for by partitioned filters alone, which a table with filter units does not have.
  size_t ApproximateNumEntries(size_t bytes) override { return bytes; }
  double EstimatedFpRate(size_t, size_t) override { return 1.0; }

 private:
  const UnitBlockPolicy* policy_;  // outlives the stock builder
};

}  // namespace

rocksdb::FilterBitsBuilder* UnitBlockPolicy::GetBuilderWithContext(const rocksdb::FilterBuildingContext&) const {
  units_.reset(sb_builder_new(filters_.get(), bytewise_ ? 1 : 0, Bytes(session_), file_number_));
  // Without one the table gets no filter.
  return units_ == nullptr ? nullptr : new FinishedUnits(this);
}

rocksdb::Slice UnitBlockPolicy::Finish() const {
  const sb_bytes block = sb_builder_finish(units_.get());
  charge_.Update(units_.get());
  return ToSlice(block);
}

// Asked when a block is parsed for a block cache, which does not keep it (UnfilteredCache).
rocksdb::FilterBitsReader* UnitBlockPolicy::GetFilterBitsReader(const rocksdb::Slice&) const { return nullptr; }

}  // namespace springbloom
