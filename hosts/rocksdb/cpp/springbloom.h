// Elastic filters in RocksDB, for C++ programs that choose them by an option string:
//
//   springbloom::Register();
//   rocksdb::GetOptionsFromString(config, base, "table_factory={id=springbloom;budget=64M};listeners=springbloom", &options);
//
// All such databases of the process share one budget. docs/guide.md explains the settings and what the functions return.
// Any thread may call the functions at any time; those with a Status return NotFound before a database was opened with
// such a string.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/status.h"

namespace springbloom {

// Makes the id "springbloom" known to option strings, as table factory and as event listener (which keeps the levels of
// tables up to date). Call it before they are parsed; further calls do nothing.
void Register();

// The budget in force, in bytes.
rocksdb::Status GetBudget(uint64_t* budget_bytes);

// Changes the budget. A smaller one is in force when this returns. Ends the measuring of budget=auto. Asks the block caches that pay
// for it: do not call this from a cache's eviction callback, which may hold the cache's lock.
rocksdb::Status SetBudget(uint64_t budget_bytes);

// The metrics, in the text format that Prometheus scrapes. Serve them with this Content-Type.
inline constexpr char kMetricsContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
rocksdb::Status GetMetrics(std::string* text);

// What GetStatus reports of a column family.
struct FamilyStatus {
  // Whether new tables get filter units, and lookups use the units of existing tables.
  bool is_active = false;
  uint64_t tables_with_units = 0;
  // Written without elastic filters; a compaction gives them units.
  uint64_t tables_without_units = 0;
  // Of new tables; 0 if these are stock RocksDB's. It is 16 if a block cache pays for the budget.
  uint64_t index_block_restart_interval = 0;
};

// Tells whether a column family uses elastic filters. Reads its tables' properties.
rocksdb::Status GetStatus(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, FamilyStatus* status);

// Expected wasted reads per lookup at a budget; NotFound before anything was measured.
rocksdb::Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads);

// Waits until no filter unit is waiting to be loaded, or returns TimedOut. For tests and benchmarks.
rocksdb::Status WaitIdle(std::chrono::milliseconds timeout);

}  // namespace springbloom
