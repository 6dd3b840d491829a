// What the tables of an open database share where its policy is elastic. The core takes each for a database with one column family.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "filters.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"
#include "open_table.h"

namespace springbloom {

class Database {
 public:
  // `options` outlive it.
  Database(Selected selected, const std::string& folder, const leveldb::Options& options);
  // After all tables were closed. No file is accessed any more when it returns.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // The table was opened: finds its units. If they cannot be had now, it is deferred: background threads try again.
  void Open(const std::shared_ptr<OpenTable>& table);
  // The table is closed. A try that hangs is not waited for: it keeps the table.
  void Close(OpenTable* table);

  // A lookup of a key of the database in a table that has units.
  class Lookup {
   public:
    Lookup(const Database& database, const OpenTable& table, const leveldb::Slice& internal_key);
    // False: the table does not have the key.
    bool MayMatch();
    // What reading the table came to: whether an entry for the key was found.
    void Record(bool is_found) const;

   private:
    const OpenTable& table_;
    const sb_comparator order_;
    const leveldb::Slice user_key_;
    const sb_digest digest_;
    uint32_t segment_ = 0;
  };

 private:
  // What opening units comes to, in the words of springbloom_abi.h; SB_NONE_LEFT: the table has none. Does not set `has_units`.
  int TryToOpen(OpenTable* table);
  void Defer(const std::shared_ptr<OpenTable>& table);
  static int Retry(void* context) noexcept;
  // One of springbloom_abi.h, or kClosed.
  int TryNext();
  void Undefer(OpenTable* table);
  void CloseUnits(OpenTable* table);
  std::string PathOf(const OpenTable& table) const;

  // The table was closed while it was tried.
  static constexpr int kClosed = -1;

  const Selected selected_;
  const std::string folder_;
  leveldb::Logger* const log_;
  const std::string session_;
  sb_column_family* const family_;
  std::atomic<bool> has_told_of_deferral_ = false;
  // Guards the following.
  std::mutex mutex_;
  // In the order in which they are tried next, those that are being tried among them.
  std::list<std::shared_ptr<OpenTable>> deferred_;
};

}  // namespace springbloom
