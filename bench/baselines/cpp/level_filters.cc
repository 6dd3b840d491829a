#include "level_filters.h"

#include <algorithm>
#include <vector>

namespace springbloom {
namespace {

class LevelFilterPolicy final : public rocksdb::FilterPolicy {
 public:
  LevelFilterPolicy(StockFilter filter, const double* bloom_bits, size_t count) {
    for (size_t level = 0; level < count; ++level) {
      levels_.emplace_back(filter == StockFilter::kRibbon ? rocksdb::NewRibbonFilterPolicy(bloom_bits[level])
                                                          : rocksdb::NewBloomFilterPolicy(bloom_bits[level]));
    }
  }
  const char* Name() const override { return "springbloom.LevelFilters"; }
  const char* CompatibilityName() const override { return levels_[0]->CompatibilityName(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(const rocksdb::FilterBuildingContext& context) const override {
    const size_t level = context.level_at_creation < 0 ? 0 : static_cast<size_t>(context.level_at_creation);
    return levels_[std::min(level, levels_.size() - 1)]->GetBuilderWithContext(context);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(const rocksdb::Slice& contents) const override {
    return levels_[0]->GetFilterBitsReader(contents);
  }

 private:
  std::vector<std::unique_ptr<const rocksdb::FilterPolicy>> levels_;
};

}  // namespace

std::shared_ptr<const rocksdb::FilterPolicy> NewLevelFilterPolicy(StockFilter filter, const double* bloom_bits, size_t count) {
  return std::make_shared<LevelFilterPolicy>(filter, bloom_bits, count);
}

}  // namespace springbloom
