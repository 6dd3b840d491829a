#include "springbloom.h"

#include "handle.h"

namespace springbloom {

using rocksdb::Status;

namespace {

ElasticRef ProcessWide() {
  const sb_elastic* elastic = sb_elastic_process_wide_if_any();
  return elastic == nullptr ? nullptr : ElasticRef(elastic, ElasticRelease());
}

Status NobodyYet() { return Status::NotFound("springbloom", "no database was opened with table_factory={id=springbloom}"); }

void Take(void* context, sb_bytes text) {
  static_cast<std::string*>(context)->assign(reinterpret_cast<const char*>(text.data), text.size);
}

}  // namespace

void Register() { springbloom_register(); }

Status GetBudget(uint64_t* budget_bytes) {
  const ElasticRef elastic = ProcessWide();
  if (elastic == nullptr) {
    return NobodyYet();
  }
  *budget_bytes = sb_elastic_budget_bytes(elastic.get());
  return Status::OK();
}

Status SetBudget(uint64_t budget_bytes) {
  const ElasticRef elastic = ProcessWide();
  if (elastic == nullptr) {
    return NobodyYet();
  }
  if (!sb_elastic_set_budget_bytes(elastic.get(), budget_bytes)) {
    return Status::InvalidArgument("springbloom: a budget of " + std::to_string(budget_bytes) +
                                   " bytes, expected at most 256 TiB");
  }
  return Status::OK();
}

Status GetMetrics(std::string* text) {
  const ElasticRef elastic = ProcessWide();
  if (elastic == nullptr) {
    return NobodyYet();
  }
  sb_elastic_metrics_text(elastic.get(), text, &Take);
  return Status::OK();
}

Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads) {
  const ElasticRef elastic = ProcessWide();
  if (elastic == nullptr) {
    return NobodyYet();
  }
  const double expected = sb_elastic_wasted_reads_per_lookup(elastic.get(), budget_bytes);
  if (expected < 0) {
    return Status::NotFound("springbloom", "nothing was looked up yet");
  }
  *wasted_reads = expected;
  return Status::OK();
}

Status Settle(std::chrono::milliseconds timeout) {
  const ElasticRef elastic = ProcessWide();
  if (elastic == nullptr) {
    return NobodyYet();
  }
  const auto ms = static_cast<uint64_t>(timeout.count() < 0 ? 0 : timeout.count());
  return sb_elastic_settle(elastic.get(), ms) ? Status::OK() : Status::TimedOut();
}

}  // namespace springbloom
