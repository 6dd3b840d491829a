// State that the open tables of a column family share.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "owners.h"
#include "options/cf_options.h"
#include "read/read_objects.h"
#include "rocksdb/comparator.h"
#include "rocksdb_release.h"
#include "util/random.h"

namespace springbloom {

// A column family of an open database. It lives as long as one of its tables is open.
// RocksDB destroys all readers of a database before Close returns. With the last one, the core is told, and does not access the database's
// files any more.
class ColumnFamily {
 public:
  // `rows`: the cache of records in the options. `is_for_writing`: whether the database may have been opened to write.
  ColumnFamily(FiltersRef filters, const rocksdb::TableReaderOptions& options, const sb_row_cache& rows, bool is_for_writing);
  ~ColumnFamily();
  ColumnFamily(const ColumnFamily&) = delete;
  ColumnFamily& operator=(const ColumnFamily&) = delete;

  // Whether a reader with these options is one of this column family. Not by what a table says of itself: an ingested one does not say
  // whose it is, and an imported one says whose it was.
  bool Matches(const FiltersRef& filters, const rocksdb::TableReaderOptions& options) const;

  const sb_column_family* Handle() const { return family_; }

  // About this many lookups began with one of its tables.
  void CountLookups(uint64_t lookups) const { sb_column_family_count_lookups(family_, lookups); }

  // Whether a key that units reject is to be looked up all the same.
  // By a random number of 31 bits.
  bool Verifies() const { return verify_below_ != 0 && rocksdb::Random::GetTLSInstance()->Next() <= verify_below_ / 2; }
  // It was looked up. `was_there`: the units of the table at `path` rejected what it holds.
  void CountVerified(bool was_there, const std::string& path) const;

  // Tells the log what is in force.
  void LogOpening(const rocksdb::TableReaderOptions& options) const;

  // Tell the log, once, that tables are read without units: for lack of room, or until their units can be read.
  void WarnOfNoRoom() const;
  void WarnOfUnreadable(const std::string& path) const;

  const FiltersRef filters;
  const rocksdb::Comparator* const comparator;
  const std::shared_ptr<const ReadObjects> objects;

 private:
  friend class ColumnFamilyRef;

  // Its identity: the opening of the database, and an object that the column family owns.
  const std::string session_;
  const void* const column_family_;
  const sb_column_family* const family_;
  const uint32_t verify_below_;
  mutable std::atomic<bool> warned_of_no_room_ = false;
  mutable std::atomic<bool> warned_of_unreadable_ = false;
  mutable std::atomic<uint32_t> told_of_wrong_ = 0;
  mutable size_t readers_ = 0;
  // In the list of all that are open.
  std::list<ColumnFamily>::const_iterator place_;
};

// A share in a column family, in one word where a std::shared_ptr takes two: there is one for every open table.
class ColumnFamilyRef {
 public:
  // Finds the column family of the reader that these options open, or makes it. O(column families), under a lock. The options are those of
  // a database: IsOfDatabase.
  ColumnFamilyRef(const FiltersRef& filters, const rocksdb::TableReaderOptions& options, bool is_for_writing);
  ColumnFamilyRef(ColumnFamilyRef&& other) noexcept : family_(std::exchange(other.family_, nullptr)) {}
  ColumnFamilyRef(const ColumnFamilyRef& other);
  ColumnFamilyRef& operator=(const ColumnFamilyRef&) = delete;
  ~ColumnFamilyRef();

  // Readers that no database owns (SstFileReader, sst_dump, ingestion's look at a file) tell no database, and may outlive any.
  static bool IsOfDatabase(const rocksdb::TableReaderOptions& options) { return release::ColumnFamilyOf(options) != nullptr; }

  explicit operator bool() const { return family_ != nullptr; }
  const ColumnFamily& operator*() const { return *family_; }
  const ColumnFamily* operator->() const { return family_; }

 private:
  const ColumnFamily* family_;
};

}  // namespace springbloom
