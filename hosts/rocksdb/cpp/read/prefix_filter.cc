#include "read/prefix_filter.h"

#include "monitoring/perf_context_imp.h"
#include "read/lookup_digest.h"
#include "read/unit_table.h"

namespace springbloom {

// The perf macros name these without their namespace.
using rocksdb::perf_context;
using rocksdb::perf_level;
using rocksdb::PerfLevel;

namespace {

// Trivial, so that no access is guarded.
struct Seek {
  const PrefixFilter* passed;
  sb_batch_key sought;
};
thread_local Seek seek;

}  // namespace

void PrefixFilter::InstallInto(rocksdb::TableReader* stock, const ColumnFamilyRef& family, const sb_table* units) {
  auto* table = static_cast<rocksdb::BlockBasedTable*>(stock);
  table->get_rep()->filter = std::make_unique<PrefixFilter>(table, family, units);
}

// Its file has no filter block that stock code knows, so that it has no other filter.
PrefixFilter* PrefixFilter::Of(const rocksdb::TableReader& stock) {
  return static_cast<PrefixFilter*>(RepOf(stock).filter.get());
}

void PrefixFilter::Close(bool obsolete) {
  units_.Close(obsolete);
  // As a filter without units: its column family may end before the stock reader does.
  units_.LeaveFamily();
}

bool PrefixFilter::MayHold(const rocksdb::Slice& prefix) {
  if (!HasUnits()) {
    return true;
  }
  seek.passed = nullptr;
  sb_batch_key sought{Bytes(prefix), LookupDigest(prefix, units_.Family()), 0, 1};
  if (!units_.MayMatch(sb_comparator{nullptr, nullptr}, sought.digest, prefix, &sought.segment)) {
    PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
    return false;
  }
  PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
  seek.passed = this;
  seek.sought = sought;
  return true;
}

void PrefixFilter::ForgetQuestion() { seek.passed = nullptr; }

const sb_batch_key* PrefixFilter::Question() const { return seek.passed == this ? &seek.sought : nullptr; }

}  // namespace springbloom
