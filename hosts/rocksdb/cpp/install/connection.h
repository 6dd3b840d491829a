// Where a table factory gets its instance of the filters from.
#pragma once

#include <mutex>
#include <string>

#include "owners.h"
#include "read/yielding_cache.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"

namespace springbloom {

// Settings that option strings can give, as text, in the order of sb_setting_name; empty where none was given. Not written to
// OPTIONS files, so that a stock engine reads those too.
struct ElasticOptions {
  static const char* kName() { return "SpringbloomOptions"; }

  std::string values[SB_SETTINGS];
};

// A copy starts with what the original has.
class Connection {
 public:
  // `filters` null: the shared instance, which the options make or find.
  explicit Connection(FiltersRef filters) : given_(filters != nullptr), filters_(std::move(filters)) {}
  Connection(const Connection& other);

  // Makes or finds the shared instance, and applies a budget that the options have newly got, unless an instance was
  // given. Has the options' block cache pay, if the budget is charged.
  rocksdb::Status Get(const ElasticOptions& options, const rocksdb::BlockBasedTableOptions& table_options, FiltersRef* filters);

  const sb_filters* Given() const { return given_ ? filters_.get() : nullptr; }
  // Whether the options have made or found an instance.
  bool IsMade() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return filters_ != nullptr;
  }

 private:
  const bool given_;
  mutable std::mutex mutex_;
  FiltersRef filters_;
  std::string applied_budget_;
  CacheUse cache_use_;  // shared by the copies of a table factory, which is what options and open databases have a cache by
  const rocksdb::Cache* used_cache_ = nullptr;  // alive while there is a use
};

}  // namespace springbloom
