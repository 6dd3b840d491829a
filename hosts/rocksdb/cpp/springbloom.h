// Elastic filters in RocksDB, for C++ programs that choose them by an option string:
//
//   springbloom::Register();
//   rocksdb::GetOptionsFromString(config, base, "table_factory={id=springbloom;budget=64M};listeners=springbloom", &options);
//
// All databases of the process that were opened so share one budget. Settings, and what the functions below tell:
// docs/guide.md. The functions may be called by any thread at any time; those with a Status give NotFound while no
// database was opened with such a string.
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

// Changes the budget. A smaller one holds when this returns. With budget=auto it stays as it is set from then on.
rocksdb::Status SetBudget(uint64_t budget_bytes);

// The metrics, in the text format that Prometheus scrapes. A server that gives them away says that they are of this Content-Type.
inline constexpr char kMetricsContentType[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
rocksdb::Status GetMetrics(std::string* text);

// Of a column family.
struct FamilyStatus {
  // Whether the tables that it writes from now on get filter units, and those that have them are read with them.
  bool is_active = false;
  uint64_t tables_with_units = 0;
  // Written by stock RocksDB, or before elastic filters were chosen: a compaction gives them units.
  uint64_t tables_without_units = 0;
  // Of the tables that it writes from now on; 0 if they are stock RocksDB's. A block cache that pays for the budget makes it 16.
  uint64_t index_block_restart_interval = 0;
};

// Tells whether elastic filters are in use where they are expected. Reads the tables' properties.
rocksdb::Status GetStatus(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, FamilyStatus* status);

// Wasted reads per lookup to expect at a budget, from what was measured so far; NotFound before anything was.
rocksdb::Status GetWastedReadsPerLookup(uint64_t budget_bytes, double* wasted_reads);

// Waits until no filter unit is waiting to be loaded; TimedOut if that does not come true. For tests and benchmarks.
rocksdb::Status WaitIdle(std::chrono::milliseconds timeout);

}  // namespace springbloom
