// The filter units of a table.
#pragma once

#include <utility>

#include "read/column_family.h"

namespace springbloom {

// A table's units over keys, or over prefixes: from the opening of its reader to its closing.
class TableFilter {
 public:
  explicit TableFilter(ColumnFamilyRef family) : family_(std::move(family)) {}
  ~TableFilter() { Close(/*obsolete=*/false); }
  TableFilter(const TableFilter&) = delete;
  TableFilter& operator=(const TableFilter&) = delete;

  // `table` was opened in the column family, and is owned from here on; null: there are no such units. Before lookups begin.
  void Set(const sb_table* table) { table_ = table; }
  // Whether it has its units. Nothing but the column family may be used before.
  bool IsOpen() const { return table_ != nullptr && sb_table_is_open(table_) != 0; }
  // Its file is going away.
  void StopWaiting() const {
    if (table_ != nullptr) {
      sb_table_stop_waiting(table_);
    }
  }

  const ColumnFamily& Family() const { return *family_; }
  const ColumnFamilyRef& FamilyRef() const { return family_; }

  // Whether the table may hold `key` (without timestamp), and in which segment.
  bool MayMatch(const sb_comparator& comparator, const sb_digest& digest, const rocksdb::Slice& key, uint32_t* segment) const {
    return sb_table_may_match(table_, &comparator, digest, Bytes(key), segment) != 0;
  }
  // The same for a batch.
  void MayMatch(const sb_comparator& comparator, sb_batch_key* sought, size_t count) const {
    sb_table_may_match_batch(table_, &comparator, sought, count);
  }
  void Record(uint32_t segment, sb_ended ended) const { sb_table_record(table_, segment, ended); }
  size_t MemoryBytes() const { return sb_table_memory_bytes(table_); }

  // Gives the share in the column family up, after Close.
  void LeaveFamily() { family_.reset(); }

  // Gives the units up. `obsolete`: the file is going away. The column family stays until this is destroyed.
  void Close(bool obsolete) {
    if (const sb_table* const table = std::exchange(table_, nullptr)) {
      sb_table_close(family_->filters.get(), table, obsolete ? 1 : 0);
    }
  }

 private:
  ColumnFamilyRef family_;
  const sb_table* table_ = nullptr;
};

}  // namespace springbloom
