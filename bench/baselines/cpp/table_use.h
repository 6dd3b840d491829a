// How often tables are asked and have the key: what SHaMBa's utility of a module is computed from.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "rocksdb/statistics.h"

namespace springbloom {

// One table's.
struct TableUse {
  std::atomic<uint64_t> lookups{0};
  std::atomic<uint64_t> found{0};
  // Lookups at all tables before it was known.
  uint64_t earlier_lookups;
};

// A table's part of the lookups.
struct UseEstimate {
  // Times the mean of all tables.
  double frequency;
  // Share of its lookups that found the key.
  double found_share;
};

class TableUses {
 public:
  // The use of the table whose modules begin at `offset`; it lives as long as this.
  TableUse* Of(uint64_t offset);

  // Counts a lookup at `use` and tells what is known of it. A table that was hardly asked counts as an average one without the key.
  UseEstimate Count(TableUse* use);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<TableUse>> uses_;
  std::atomic<uint64_t> tables_{0};
  std::atomic<uint64_t> lookups_{0};
};

// The table that this thread asked last and that may have the key.
void SetAsked(TableUse* use);

// Statistics that notice one thing: a table that passed its filter had the key.
std::shared_ptr<rocksdb::Statistics> NewUseStatistics();

}  // namespace springbloom
