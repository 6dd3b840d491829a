#include "level_bloom.h"

#include <algorithm>
#include <vector>

namespace springbloom {
namespace {

class LevelBloomPolicy final : public rocksdb::FilterPolicy {
 public:
  explicit LevelBloomPolicy(const double* bits, size_t count) {
    for (size_t level = 0; level < count; ++level) {
      levels_.emplace_back(rocksdb::NewBloomFilterPolicy(bits[level]));
    }
  }
  const char* Name() const override { return "springbloom.LevelBloom"; }
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

std::shared_ptr<const rocksdb::FilterPolicy> NewLevelBloomPolicy(const double* bits_per_key, size_t count) {
  return std::make_shared<LevelBloomPolicy>(bits_per_key, count);
}

}  // namespace springbloom
