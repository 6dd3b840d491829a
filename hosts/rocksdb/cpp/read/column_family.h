// State that the open tables of a column family share.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "owners.h"
#include "options/cf_options.h"
#include "read/file_reader.h"
#include "rocksdb/comparator.h"
#include "rocksdb_release.h"
#include "util/random.h"

namespace springbloom {

// A column family of an open database. It lives as long as one of its tables is open.
// RocksDB destroys all readers of a database before Close returns. With the last one, the core is told, and does not access the database's
// files any more.
class ColumnFamily {
 public:
  // Finds the column family of the reader that these options open, or makes it: not by what a table says of itself, as an ingested one does
  // not say whose it is, and an imported one says whose it was. O(column families), under a lock. The options are those of a database.
  // `is_for_writing`: whether it may have been opened to write.
  static std::shared_ptr<const ColumnFamily> Of(const FiltersRef& filters, const rocksdb::TableReaderOptions& options,
                                                bool is_for_writing);
  // Readers that no database owns (SstFileReader, sst_dump, ingestion's look at a file) tell no database, and may outlive any.
  static bool IsOfDatabase(const rocksdb::TableReaderOptions& options) { return release::ColumnFamilyOf(options) != nullptr; }

  ~ColumnFamily();
  ColumnFamily(const ColumnFamily&) = delete;
  ColumnFamily& operator=(const ColumnFamily&) = delete;

  const sb_column_family* Handle() const { return family_; }

  // About this many lookups began with one of its tables.
  void CountLookups(uint64_t lookups) const { sb_column_family_count_lookups(family_, lookups); }

  // Whether a key that units reject is to be looked up all the same: by a random number of 31 bits.
  bool Verifies() const { return verify_below_ != 0 && rocksdb::Random::GetTLSInstance()->Next() <= verify_below_ / 2; }
  // It was looked up. `was_there`: the units of the table at `path` rejected what it holds.
  void CountVerified(bool was_there, const std::string& path) const;

  // Tell the log, once, that tables are read without units: for lack of room, or until their units can be read.
  void WarnOfNoRoom() const;
  void WarnOfUnreadable(const std::string& path) const;

  const FiltersRef filters;
  const rocksdb::Comparator* const comparator;
  // The same for the core.
  const sb_comparator core_comparator;
  const std::shared_ptr<const ReadObjects> objects;

 private:
  // `rows`: the cache of records in the options.
  ColumnFamily(FiltersRef filters, const rocksdb::TableReaderOptions& options, const sb_row_cache& rows, bool is_for_writing);
  // Tells the log what is in force.
  void LogOpening(const rocksdb::TableReaderOptions& options) const;

  const sb_column_family* const family_;
  const uint32_t verify_below_;
  mutable std::atomic<bool> warned_of_no_room_ = false;
  mutable std::atomic<bool> warned_of_unreadable_ = false;
  mutable std::atomic<uint32_t> told_of_wrong_ = 0;
};

// A share in a column family: every open table has one.
using ColumnFamilyRef = std::shared_ptr<const ColumnFamily>;

}  // namespace springbloom
