#include "table_use.h"

namespace springbloom {
namespace {

// Lookups of an average table that a new one starts with.
constexpr double kPrior = 16;

thread_local TableUse* asked = nullptr;

class UseStatistics final : public rocksdb::Statistics {
 public:
  UseStatistics() { set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers); }

  const char* Name() const override { return "springbloom.UseStatistics"; }

  void recordTick(uint32_t ticker, uint64_t count) override {
    if (ticker == rocksdb::BLOOM_FILTER_FULL_TRUE_POSITIVE && asked != nullptr) {
      asked->found.fetch_add(count, std::memory_order_relaxed);
    }
  }

  uint64_t getTickerCount(uint32_t) const override { return 0; }
  void setTickerCount(uint32_t, uint64_t) override {}
  uint64_t getAndResetTickerCount(uint32_t) override { return 0; }
  void histogramData(uint32_t, rocksdb::HistogramData*) const override {}
  void recordInHistogram(uint32_t, uint64_t) override {}
  bool HistEnabledForType(uint32_t) const override { return false; }
};

}  // namespace

TableUse* TableUses::Of(uint64_t offset) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<TableUse>& use = uses_[offset];
  if (use == nullptr) {
    use = std::make_unique<TableUse>();
    use->earlier_lookups = lookups_.load(std::memory_order_relaxed);
    tables_.store(uses_.size(), std::memory_order_relaxed);
  }
  return use.get();
}

UseEstimate TableUses::Count(TableUse* use) {
  const double all = static_cast<double>(lookups_.fetch_add(1, std::memory_order_relaxed) - use->earlier_lookups);
  const double own = static_cast<double>(use->lookups.fetch_add(1, std::memory_order_relaxed));
  const double mean = all / static_cast<double>(tables_.load(std::memory_order_relaxed));
  const double found = static_cast<double>(use->found.load(std::memory_order_relaxed));
  return {(own + kPrior) / (mean + kPrior), found / (own + kPrior)};
}

void SetAsked(TableUse* use) { asked = use; }

std::shared_ptr<rocksdb::Statistics> NewUseStatistics() { return std::make_shared<UseStatistics>(); }

}  // namespace springbloom
