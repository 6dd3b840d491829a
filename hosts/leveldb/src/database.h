// What the tables of an open database share where its policy is elastic. The core takes each for a database with one column family.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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

  // The table was opened: finds its units. If they cannot be had now, it waits for them.
  void Open(const std::shared_ptr<OpenTable>& table);
  // The table is closed. A read that hangs is not waited for: it keeps the table.
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
  std::string PathOf(const OpenTable& table) const;

  const Selected selected_;
  const std::string folder_;
  leveldb::Logger* const log_;
  const std::string session_;
  const sb_column_family* const family_;
  std::atomic<bool> has_told_of_waiting_ = false;
};

}  // namespace springbloom
