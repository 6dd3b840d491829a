// Deferred tables: when they were opened, the budget had no room for their bookkeeping, or their units could not be read. They get their
// units when that is over.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "abi.h"
#include "read/column_family.h"
#include "read/table_filter.h"
#include "table/block_based/block_based_table_reader.h"

namespace springbloom {

// The deferred tables of a column family. Thread-safe. Background threads try to open their units; lookups never look for room. A try may
// hang: nobody waits for it but the end of the database.
// `Reader` is an ElasticTableReader, which waits for units over keys, or a PrefixFilter.
template <typename Reader>
class DeferredTables {
 public:
  explicit DeferredTables(const ColumnFamily& family) : family_(family) {}
  // After the last table was closed.
  ~DeferredTables();

  void Add(Reader* reader);
  // The reader gets no units from here on.
  void Remove(Reader* reader);
  // The reader, which was removed, is being destroyed. If it is being tried, that keeps `stock`, which it reads.
  void Close(const Reader* reader, const std::shared_ptr<rocksdb::TableReader>& stock);
  bool HasTries() const;

 private:
  // A try that is under way.
  struct Try {
    // Null once it was closed: another one may get its address.
    const Reader* reader;
    bool is_removed = false;
    std::shared_ptr<rocksdb::TableReader> stock{};
  };

  // Callback of springbloom_abi.h; `context` is a DeferredTables*.
  static int Retry(void* context) noexcept;
  // One of springbloom_abi.h, or kRemoved.
  int TryNext();
  int TryOne(const rocksdb::BlockBasedTable::Rep& rep, OpenedUnits* opened) const;
  // The reader to try next, of those that are not being tried; null if there is none.
  Reader* Next();
  Try* TryOf(const Reader* reader);
  void Unlink(Reader* reader);
  static Reader* After(Reader* reader) { return static_cast<Reader*>(reader->Links().next); }

  // The table was removed while it was tried.
  static constexpr int kRemoved = -1;

  const ColumnFamily& family_;
  // Guards the following, and the links of the readers.
  mutable std::mutex mutex_;
  // A few.
  std::list<Try> tries_;
  // The one to try next; null if there is none. What was tried comes last, so that all have their turn.
  Reader* next_ = nullptr;
};

}  // namespace springbloom
