#include "springbloom.h"

#include <string_view>

#include "owners.h"

namespace springbloom {

using rocksdb::Status;

static_assert(std::string_view(kMetricsContentType) == SB_METRICS_CONTENT_TYPE);

namespace {

Status NobodyYet() { return Status::NotFound("springbloom", "no database was opened with table_factory={id=springbloom}"); }

void Take(void* context, sb_bytes text) noexcept {
  static_cast<std::string*>(context)->assign(reinterpret_cast<const char*>(text.data), text.size);
}

}  // namespace

void Register() { springbloom_register(); }

Status GetBudget(uint64_t* budget_bytes) {
  const FiltersRef filters = SharedInstance();
  if (filters == nullptr) {
    return NobodyYet();
  }
  *budget_bytes = sb_filters_budget_bytes(filters.get());
  return Status::OK();
}

Status SetBudget(uint64_t budget_bytes) {
  const FiltersRef filters = SharedInstance();
  if (filters == nullptr) {
    return NobodyYet();
  }
  if (!sb_filters_set_budget_bytes(filters.get(), budget_bytes)) {
    return Status::InvalidArgument("springbloom: a budget of " + std::to_string(budget_bytes) +
                                   " bytes, expected at most 256 TiB");
  }
  return Status::OK();
}

Status GetMetrics(std::string* text) {
  const FiltersRef filters = SharedInstance();
  if (filters == nullptr) {
    return NobodyYet();
  }
  sb_filters_metrics_text(filters.get(), text, &Take);
  return Status::OK();
}

Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads) {
  const FiltersRef filters = SharedInstance();
  if (filters == nullptr) {
    return NobodyYet();
  }
  const double expected = sb_filters_wasted_reads_per_lookup(filters.get(), budget_bytes);
  if (expected < 0) {
    return Status::NotFound("springbloom", "nothing was looked up yet");
  }
  *wasted_reads = expected;
  return Status::OK();
}

Status WaitIdle(std::chrono::milliseconds timeout) {
  const FiltersRef filters = SharedInstance();
  if (filters == nullptr) {
    return NobodyYet();
  }
  const auto ms = static_cast<uint64_t>(timeout.count() < 0 ? 0 : timeout.count());
  return sb_filters_wait_idle(filters.get(), ms) ? Status::OK() : Status::TimedOut();
}

}  // namespace springbloom
