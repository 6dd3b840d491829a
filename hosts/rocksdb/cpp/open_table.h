// The filter units of a table that is open, and what its reader has in common with others.
#pragma once

#include <atomic>
#include <utility>

#include "handle.h"
#include "key_order.h"
#include "rocksdb/comparator.h"
#include "rocksdb/statistics.h"

namespace springbloom {

// What the readers of a column family have in common, kept once for all of them.
struct ReaderCommons {
  ElasticRef elastic;
  const rocksdb::Comparator* comparator;
  rocksdb::Statistics* statistics;
};

// A share in commons, in one word where a std::shared_ptr takes two: there is one for every open table.
class CommonsRef {
 public:
  // Finds those commons, or makes them. O(column families), under a lock.
  explicit CommonsRef(const ReaderCommons& commons);
  CommonsRef(CommonsRef&& other) noexcept : kept_(std::exchange(other.kept_, nullptr)) {}
  CommonsRef(const CommonsRef&) = delete;
  CommonsRef& operator=(const CommonsRef&) = delete;
  ~CommonsRef();

  explicit operator bool() const { return kept_ != nullptr; }
  const ReaderCommons* operator->() const { return kept_; }

 private:
  const ReaderCommons* kept_;
};

// Owns an open sb_table, which lies in it.
class OpenTable {
 public:
  // `table` was opened with the commons' elastic.
  OpenTable(CommonsRef commons, sb_table table) : commons_(std::move(commons)), table_(table) {}
  OpenTable(OpenTable&& other) noexcept : commons_(std::move(other.commons_)), table_(other.table_) {}
  ~OpenTable() {
    if (commons_) {
      sb_table_close(commons_->elastic.get(), &table_, obsolete_.load(std::memory_order_relaxed) ? 1 : 0);
    }
  }
  OpenTable(const OpenTable&) = delete;
  OpenTable& operator=(const OpenTable&) = delete;

  const ReaderCommons& Commons() const { return *commons_.operator->(); }

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
  CommonsRef commons_;
  sb_table table_;
  // Several references of the table cache may say so at once.
  std::atomic<bool> obsolete_{false};
};

}  // namespace springbloom
