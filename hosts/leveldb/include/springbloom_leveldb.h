// Elastic filters in LevelDB:
//
//   const leveldb::FilterPolicy* policy;
//   leveldb::Status s = springbloom::NewElasticFilterPolicy("budget=64M", &policy);
//   options.filter_policy = policy;
//
// On the linker's command line, this library must come before LevelDB's static one, of which it replaces two classes (README.md). All
// databases of the process with such a policy share one budget. Any thread may call these functions at any time; those with a Status return
// NotFound while there is no policy.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "leveldb/filter_policy.h"
#include "leveldb/status.h"

namespace springbloom {

// `settings`: name=value pairs separated by ; (docs/guide.md#settings). A later policy may change the budget; its other settings must agree
// with those of existing policies and open databases. The caller owns the policy, and deletes it after the databases opened with it.
leveldb::Status NewElasticFilterPolicy(const std::string& settings, const leveldb::FilterPolicy** policy);

// The budget in force, in bytes.
leveldb::Status GetBudget(uint64_t* budget_bytes);

// Changes the budget. A smaller one is in force when this returns.
leveldb::Status SetBudget(uint64_t budget_bytes);

// The metrics, in the text format that Prometheus scrapes. Serve them with this Content-Type.
inline constexpr char kMetricsContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
leveldb::Status GetMetrics(std::string* text);

// Expected wasted reads per lookup at a budget; NotFound before anything was measured.
leveldb::Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads);

// Waits until no filter unit is waiting to be loaded, or returns an IOError. For tests and benchmarks.
leveldb::Status WaitIdle(std::chrono::milliseconds timeout);

}  // namespace springbloom
