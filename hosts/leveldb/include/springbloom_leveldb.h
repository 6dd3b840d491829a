// Elastic filters in LevelDB:
//
//   const leveldb::FilterPolicy* policy;
//   leveldb::Status s = springbloom::NewElasticFilterPolicy("budget=64M", &policy);
//   options.filter_policy = policy;
//
// The library must come before LevelDB's static one on the linker's command line, as it replaces two of its classes (README.md). All
// databases of the process that have such a policy share one budget. Any thread may call these functions at any time; those with a Status
// give NotFound while there is no policy.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "leveldb/filter_policy.h"
#include "leveldb/status.h"

namespace springbloom {

// `settings`: name=value, with ; between them (docs/guide.md#settings). A later policy may set another budget; the rest must agree with the
// policies and open databases that there are. The policy is the caller's, who deletes it after the databases that were opened with it.
leveldb::Status NewElasticFilterPolicy(const std::string& settings, const leveldb::FilterPolicy** policy);

// The budget in force, in bytes.
leveldb::Status GetBudget(uint64_t* budget_bytes);

// Changes the budget. A smaller one holds when this returns.
leveldb::Status SetBudget(uint64_t budget_bytes);

// The metrics, in the text format that Prometheus scrapes. A server that gives them away says that they are of this Content-Type.
inline constexpr char kMetricsContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
leveldb::Status GetMetrics(std::string* text);

// Wasted reads per lookup to expect at a budget, from what was measured so far; NotFound before anything was.
leveldb::Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads);

// Waits until no filter unit is waiting to be loaded; an IOError if that does not come true. For tests and benchmarks.
leveldb::Status WaitIdle(std::chrono::milliseconds timeout);

}  // namespace springbloom
