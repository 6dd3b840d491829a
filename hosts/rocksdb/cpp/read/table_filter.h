// The filter units of a table.
#pragma once

#include <atomic>
#include <utility>

#include "read/column_family.h"
#include "read/comparator.h"

namespace springbloom {

// Neighbours in a ring of deferred tables; null for one that is not in it.
struct DeferredLinks {
  void* previous = nullptr;
  void* next = nullptr;
};

// Units that were opened, to be given to a reader.
struct OpenedUnits {
  sb_table table;
  // Of units over prefixes.
  uint64_t further_prefixes;
};

// An sb_table in place, once it is open. Until then a deferred table has its links there.
class TableFilter {
 public:
  explicit TableFilter(ColumnFamilyRef family) : family_(std::move(family)) {}
  ~TableFilter() { Close(/*obsolete=*/false); }
  TableFilter(const TableFilter&) = delete;
  TableFilter& operator=(const TableFilter&) = delete;

  // `table` was opened in the column family, and is owned from here on. Lookups may go on meanwhile.
  void Open(const sb_table& table) {
    table_ = table;
    is_open_.store(true, std::memory_order_release);
  }
  // Nothing but the column family and the links may be used before.
  bool IsOpen() const { return is_open_.load(std::memory_order_acquire); }
  DeferredLinks& Links() { return links_; }

  const ColumnFamily& Family() const { return *family_; }
  const ColumnFamilyRef& FamilyRef() const { return family_; }

  // Whether the table may hold `key` (without timestamp), and in which segment.
  bool MayMatch(const sb_comparator& order, const sb_digest& digest, const rocksdb::Slice& key, uint32_t* segment) const {
    return sb_table_may_match(&table_, &order, digest, Bytes(key), segment) != 0;
  }
  // The same for a batch.
  void MayMatch(const sb_comparator& order, sb_batch_key* sought, size_t count) const {
    sb_table_may_match_batch(&table_, &order, sought, count);
  }
  void RecordMissing(uint32_t segment) const { sb_table_record_missing(&table_, segment); }
  void RecordFound(uint32_t segment) const { sb_table_record_found(&table_, segment); }
  void RecordNotRead(uint32_t segment) const { sb_table_record_not_read(&table_, segment); }
  size_t MemoryBytes() const { return sb_table_memory_bytes(&table_); }

  // Must be the last call. `obsolete`: the file is going away.
  void Close(bool obsolete) {
    if (family_) {
      if (IsOpen()) {
        sb_table_close(family_->filters.get(), &table_, obsolete ? 1 : 0);
      }
      const ColumnFamilyRef closed(std::move(family_));
    }
  }

 private:
  ColumnFamilyRef family_;
  union {
    DeferredLinks links_{};
    sb_table table_;
  };
  std::atomic<bool> is_open_{false};
};

}  // namespace springbloom
