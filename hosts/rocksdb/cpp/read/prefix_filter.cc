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
  PrefixFilter::Asked asked;
  bool is_forward;
};
thread_local Seek seek;

bool IsInOrderOfBytes(const rocksdb::Comparator* comparator) {
  return comparator == rocksdb::BytewiseComparator() || comparator == rocksdb::BytewiseComparatorWithU64Ts();
}

}  // namespace

void PrefixFilter::Plant(rocksdb::TableReader* stock, const ColumnFamilyRef& family, const sb_table* units) {
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
  seek.asked.sought = sought;
  return true;
}

rocksdb::Slice PrefixFilter::PrefixOfRange(const rocksdb::Slice& from, const rocksdb::Slice* end) {
  size_t bytes = 0;
  if (HasUnits() && seek.is_forward && end != nullptr && IsInOrderOfBytes(units_.Family().comparator)) {
    bytes = sb_table_further_prefix_of_range(units_.Table(), Bytes(from), Bytes(*end));
  }
  seek.asked.is_further = bytes != 0;
  return rocksdb::Slice(from.data(), bytes);
}

void PrefixFilter::ForgetQuestion(bool is_forward) {
  seek.passed = nullptr;
  seek.asked.is_further = false;
  seek.is_forward = is_forward;
}

const PrefixFilter::Asked* PrefixFilter::Question() const { return seek.passed == this ? &seek.asked : nullptr; }

}  // namespace springbloom
