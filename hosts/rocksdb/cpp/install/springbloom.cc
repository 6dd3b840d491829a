#include "springbloom.h"

#include <string_view>

#include "owners.h"

namespace springbloom {

using rocksdb::Status;

static_assert(std::string_view(kMetricsContentType) == SB_METRICS_CONTENT_TYPE);

namespace {

// What `use` gives for the shared instance.
template <typename Use>
Status WithFilters(Use use) {
  const FiltersRef filters = SharedInstance();
  return filters == nullptr ? Status::NotFound("springbloom", "no database was opened with table_factory={id=springbloom}")
                            : use(filters.get());
}

}  // namespace

void Register() { springbloom_register(); }

Status GetBudget(uint64_t* budget_bytes) {
  return WithFilters([&](const sb_filters* filters) {
    *budget_bytes = sb_filters_budget_bytes(filters);
    return Status::OK();
  });
}

Status SetBudget(uint64_t budget_bytes) {
  return WithFilters([&](const sb_filters* filters) {
    return sb_filters_set_budget_bytes(filters, budget_bytes)
               ? Status::OK()
               : Status::InvalidArgument("springbloom: a budget of " + std::to_string(budget_bytes) +
                                         " bytes, expected at most 256 TiB");
  });
}

Status GetMetrics(std::string* text) {
  return WithFilters([&](const sb_filters* filters) {
    sb_filters_metrics_text(filters, text, &TakeText);
    return Status::OK();
  });
}

Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads) {
  return WithFilters([&](const sb_filters* filters) {
    const double expected = sb_filters_wasted_reads_per_lookup(filters, budget_bytes);
    if (expected < 0) {
      return Status::NotFound("springbloom", "nothing was looked up yet");
    }
    *wasted_reads = expected;
    return Status::OK();
  });
}

Status WaitIdle(std::chrono::milliseconds timeout) {
  return WithFilters([&](const sb_filters* filters) {
    const auto ms = static_cast<uint64_t>(timeout.count() < 0 ? 0 : timeout.count());
    return sb_filters_wait_idle(filters, ms) ? Status::OK() : Status::TimedOut();
  });
}

}  // namespace springbloom
