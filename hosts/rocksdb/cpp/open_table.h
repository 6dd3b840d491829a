// The filter units of a table that is open.
#pragma once

#include <atomic>
#include <utility>

#include "column_family.h"
#include "key_order.h"

namespace springbloom {

// Owns an open sb_table, which lies in it.
class OpenTable {
 public:
  // `table` was opened in the column family.
  OpenTable(ColumnFamilyRef family, sb_table table) : family_(std::move(family)), table_(table) {}
  OpenTable(OpenTable&& other) noexcept : family_(std::move(other.family_)), table_(other.table_) {}
  ~OpenTable() {
    if (family_) {
      sb_table_close(family_->elastic.get(), &table_, obsolete_.load(std::memory_order_relaxed) ? 1 : 0);
    }
  }
  OpenTable(const OpenTable&) = delete;
  OpenTable& operator=(const OpenTable&) = delete;

  const ColumnFamily& Family() const { return *family_; }

  // Whether the table may hold `key` (without timestamp), and in which segment.
  bool MayMatch(const sb_key_order& order, const sb_digest& digest, const rocksdb::Slice& key, uint32_t* segment) const {
    return sb_table_may_match(&table_, &order, digest, Bytes(key), segment) != 0;
  }
  // `absent`: the table certainly has no entry of any age or kind for the key.
  void RecordWastedRead(uint32_t segment, const sb_digest& digest, const rocksdb::Slice& key, bool absent) const {
    sb_table_record_wasted_read(&table_, segment, digest, Bytes(key), absent ? 1 : 0);
  }
  void RecordTruePositive(uint32_t segment) const { sb_table_record_true_positive(&table_, segment); }
  size_t MemoryBytes() const { return sb_table_memory_bytes(&table_); }
  void MarkObsolete() { obsolete_.store(true, std::memory_order_relaxed); }

 private:
  ColumnFamilyRef family_;
  sb_table table_;
  // Several references of the table cache may say so at once.
  std::atomic<bool> obsolete_{false};
};

}  // namespace springbloom
