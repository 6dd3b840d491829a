// What only a listener is told. Of tables that a compaction moved to another level as they are it tells the manager: their readers stay
// open and RocksDB tells them nothing. Of column families whose tables get no units it tells the log.
//
// Not of those that CompactRange with change_level moves at its end (ReFitLevel): no listener is told, before or after. Asking
// the database for its files holds its mutex for all of them, and as nothing says when, would have to be done again and again;
// too much for what the policy `monkey`, the metrics by level and the order in which hotness is inherited lose.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "handle.h"
#include "rocksdb/listener.h"

namespace springbloom {

class LevelChangeListener final : public rocksdb::EventListener {
 public:
  static const char* kClassName() { return "springbloom.LevelChangeListener"; }
  // The id in option strings.
  static constexpr const char* kId = "springbloom";

  // `filters` null: the shared instance.
  explicit LevelChangeListener(FiltersRef filters) : filters_(std::move(filters)) {}

  const char* Name() const override { return kClassName(); }
  // Not written to OPTIONS files: a stock engine does not know it.
  std::string GetId() const override { return ""; }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& job) override;

  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& job) override;

 private:
  const FiltersRef filters_;
  std::mutex mutex_;
  // Databases and column families that the log was told of.
  std::set<std::pair<std::string, uint32_t>> told_;
};

}  // namespace springbloom
