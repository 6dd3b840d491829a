// Deferred tables: when they were opened, the budget had no room for their bookkeeping, or their units could not be read. They get their
// units when that is over.
#pragma once

#include <condition_variable>
#include <mutex>

#include "abi.h"
#include "read/column_family.h"
#include "read/table_filter.h"

namespace springbloom {

// The deferred tables of a column family. Thread-safe. The maintenance thread tries to open their units; lookups never look for room.
// `Reader` is an ElasticTableReader, which waits for units over keys, or a PrefixFilter.
template <typename Reader>
class DeferredTables {
 public:
  explicit DeferredTables(const ColumnFamily& family) : family_(family) {}
  // After the last table was closed.
  ~DeferredTables();

  void Add(Reader* reader);
  // When this returns, nobody tries the reader or will try it.
  void Remove(Reader* reader);

 private:
  // Callback of springbloom_abi.h; `context` is a DeferredTables*.
  static int Retry(void* context) noexcept;
  int TryNext(std::unique_lock<std::mutex>* lock);
  int TryOne(Reader* reader, OpenedUnits* opened) const;
  void Unlink(Reader* reader);
  static Reader* After(Reader* reader) { return static_cast<Reader*>(reader->Links().next); }

  const ColumnFamily& family_;
  // Guards the following, and the links of the readers.
  std::mutex mutex_;
  // The one that is being tried, which stays until that is over.
  const Reader* tried_ = nullptr;
  std::condition_variable try_ended_;
  // A table is being closed. The next ones to close are likely the next ones to try.
  bool ends_round_ = false;
  // The one to try next; null if there is none. What was tried comes last, so that all have their turn.
  Reader* next_ = nullptr;
};

}  // namespace springbloom
