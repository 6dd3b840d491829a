// Handles events that RocksDB tells only to listeners. It tells the manager of trivial moves: the readers of moved tables stay open and are
// told nothing. It tells the log of column families whose tables get no units. No listener is told of moves at the end of CompactRange with
// change_level.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "owners.h"
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
  FiltersRef Filters() const { return filters_ != nullptr ? filters_ : SharedInstance(); }
  // Tells how large the database is. RocksDB sums up all tables of all column families for it, with the database's mutex held: of many
  // flushes of a database with many tables, few tell it.
  void TellDataBytes(rocksdb::DB* db);
  // Tells of a table that has no units.
  void CheckWritten(rocksdb::DB* db, uint32_t family, const std::string& name, const rocksdb::TableProperties& table);

  const FiltersRef filters_;
  // Of CLOCK_MONOTONIC, in nanoseconds.
  std::atomic<uint64_t> next_sum_ = 0;
  std::mutex mutex_;
  // Databases and column families that the log was told of.
  std::set<std::pair<std::string, uint32_t>> told_;
};

}  // namespace springbloom
