// Deferred tables: when they were opened, the budget had no room for their bookkeeping, or their units could not be read. They get their
// units when that is over.
#pragma once

#include <mutex>

#include "abi.h"
#include "read/column_family.h"

namespace springbloom {

class ElasticTableReader;

// Neighbours in the ring of a column family's deferred tables; null for a reader that is not in it.
struct DeferredLinks {
  ElasticTableReader* previous = nullptr;
  ElasticTableReader* next = nullptr;
};

// The deferred tables of a column family. Thread-safe. The maintenance thread tries to open their units; lookups never look for room.
class DeferredTables {
 public:
  explicit DeferredTables(const ColumnFamily& family) : family_(family) {}
  // After the last table was closed.
  ~DeferredTables();

  void Add(ElasticTableReader* reader);
  // When this returns, nobody tries the reader or will try it.
  void Remove(ElasticTableReader* reader);

 private:
  // Callback of springbloom_abi.h; `context` is a DeferredTables*.
  static int Retry(void* context) noexcept;
  int TryOne(ElasticTableReader* reader, sb_table* table) const;
  void Unlink(ElasticTableReader* reader);

  const ColumnFamily& family_;
  std::mutex mutex_;
  // The one to try next; null if there is none. What was tried comes last, so that all have their turn.
  ElasticTableReader* next_ = nullptr;
};

}  // namespace springbloom
