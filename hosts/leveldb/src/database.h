// What the tables of an open database share where its policy is elastic. The core takes each for a database with one column family.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "file_access.h"
#include "filters.h"
#include "known_tables.h"
#include "leveldb/env.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"

namespace springbloom {

class Database {
 public:
  // What is given outlives it.
  Database(const Selected& selected, const std::string& folder, const leveldb::Options& options);
  // No file is accessed any more when it returns.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool Knows(uint64_t number) const { return tables_.Find(number) != nullptr; }
  // The table cache has opened the file: finds the table's units, unless the table is known. If they cannot be had now, the table
  // waits for them.
  void Learn(uint64_t number, uint64_t file_size, const OpenedFile& file);
  // The file is about to be deleted, and no lookup has the table. A read that hangs is not waited for.
  void Forget(uint64_t number);
  // The table, if it has units that can be asked. Takes no lock.
  const TableUnits* UnitsOf(uint64_t number) const;

  // A lookup of a key of the database in a table that has units.
  class Lookup {
   public:
    Lookup(const Database& database, const TableUnits& table, const leveldb::Slice& internal_key);
    // False: the table does not have the key.
    bool MayMatch();
    // What reading the table came to: whether an entry for the key was found.
    void Record(bool is_found) const;

   private:
    const TableUnits& table_;
    const sb_comparator order_;
    const leveldb::Slice user_key_;
    const sb_digest digest_;
    uint32_t segment_ = 0;
  };

 private:
  // A table's file, as the core has it, and callbacks of springbloom_abi.h.
  struct NamedFile;
  static int Read(const sb_file* file, uint64_t offset, size_t size, int verify, uint8_t* into) noexcept;
  static int ReadHead(const sb_file* file, int32_t contents, void* context,
                      void (*take)(void*, const sb_head*) noexcept) noexcept;
  static void Share(const sb_file* file) noexcept;
  static void Release(const sb_file* file) noexcept;

  // What opening units comes to, in the words of springbloom_abi.h.
  int OpenUnits(uint64_t number, uint64_t file_size, const OpenedFile& file, const sb_table** units);
  void Close(const TableUnits& table, bool is_obsolete);

  const Selected& selected_;
  const std::string folder_;
  leveldb::Env* const env_;
  leveldb::Logger* const log_;
  const std::string session_;
  const sb_column_family* const family_;
  std::atomic<bool> has_told_of_waiting_ = false;
  std::atomic<bool> has_told_of_none_ = false;
  // Guards the following, but for lookups in `tables_`.
  std::mutex mutex_;
  KnownTables tables_;
};

}  // namespace springbloom
