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
  // The units of a table, if it has some that can be asked. Takes no lock.
  const sb_table* UnitsOf(uint64_t number) const;
  // Whether units that can be asked let the key pass, and the segment that would have it.
  bool MayMatch(const sb_table* units, const leveldb::Slice& user_key, uint32_t* segment) const;

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
  sb_digest LookupDigest(const leveldb::Slice& user_key) const;

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
