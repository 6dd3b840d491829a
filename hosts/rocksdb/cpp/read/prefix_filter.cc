#include "read/prefix_filter.h"

#include "monitoring/perf_context_imp.h"
#include "read/deferred_tables.h"
#include "read/lookup_digest.h"
#include "read/unit_table.h"

namespace springbloom {

// The perf macros name these without their namespace.
using rocksdb::perf_context;
using rocksdb::perf_level;
using rocksdb::PerfLevel;

namespace {

// Trivial, so that no access is guarded.
struct Asked {
  const PrefixFilter* filter;
  sb_batch_key sought;
};
thread_local Asked asked;

}  // namespace

PrefixFilter* PrefixFilter::Plant(rocksdb::TableReader* stock, const ColumnFamilyRef& family) {
  auto* table = static_cast<rocksdb::BlockBasedTable*>(stock);
  auto filter = std::make_unique<PrefixFilter>(table, family);
  PrefixFilter* planted = filter.get();
  table->get_rep()->filter = std::move(filter);
  return planted;
}

// Its file has no filter block that stock code knows, so that it has no other filter.
PrefixFilter* PrefixFilter::Of(const rocksdb::TableReader& stock) {
  return static_cast<PrefixFilter*>(RepOf(stock).filter.get());
}

void PrefixFilter::Defer() { units_.Family().DeferredPrefixes().Add(this); }

void PrefixFilter::EndDeferral() {
  if (!HasUnits()) {
    units_.Family().DeferredPrefixes().Remove(this);
  }
}

void PrefixFilter::Close(bool obsolete) {
  EndDeferral();
  units_.Close(obsolete);
}

bool PrefixFilter::MayHold(const rocksdb::Slice& prefix) {
  if (!HasUnits()) {
    return true;
  }
  asked.filter = nullptr;
  sb_batch_key sought{Bytes(prefix), LookupDigest(prefix, units_.Family()), 0, 1};
  if (!units_.MayMatch(sb_comparator{nullptr, nullptr}, sought.digest, prefix, &sought.segment)) {
    PERF_COUNTER_ADD(bloom_sst_miss_count, 1);
    return false;
  }
  PERF_COUNTER_ADD(bloom_sst_hit_count, 1);
  asked = {this, sought};
  return true;
}

void PrefixFilter::ForgetQuestion() { asked.filter = nullptr; }

const sb_batch_key* PrefixFilter::Question() const { return asked.filter == this ? &asked.sought : nullptr; }

}  // namespace springbloom
