// A table whose lookups ask the resident filter units first.
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <memory>

#include "forwarding_table_reader.h"
#include "handle.h"
#include "table/get_context.h"
#include "table/multiget_context.h"
#include "table/table_builder.h"

namespace springbloom {

// Owns an open sb_table.
class TableUnitsRef {
 public:
  explicit TableUnitsRef(TablePtr table) : table_(table.release()), fences_(sb_table_fences(table_)) {}
  ~TableUnitsRef() { sb_table_close(table_, obsolete_.load(std::memory_order_relaxed) ? 1 : 0); }
  TableUnitsRef(const TableUnitsRef&) = delete;
  TableUnitsRef& operator=(const TableUnitsRef&) = delete;

  // The segment that would hold `key` (without timestamp): the last whose fence is not above it.
  uint32_t SegmentOf(const rocksdb::Comparator& comparator, const rocksdb::Slice& key) const {
    return fences_.count <= 1 ? 0 : SegmentAmongFences(comparator, key);
  }
  bool MayMatch(uint32_t segment, const sb_digest& digest, const rocksdb::Slice& key) const {
    return sb_table_may_match(table_, segment, digest, Bytes(key)) != 0;
  }
  // `absent`: the table certainly has no entry of any age or kind for the key.
  void RecordWastedRead(uint32_t segment, const sb_digest& digest, const rocksdb::Slice& key, bool absent) const {
    sb_table_record_wasted_read(table_, segment, digest, Bytes(key), absent ? 1 : 0);
  }
  void RecordTruePositive(uint32_t segment) const { sb_table_record_true_positive(table_, segment); }
  size_t MemoryBytes() const { return sb_table_memory_bytes(table_); }
  void MarkObsolete() { obsolete_.store(true, std::memory_order_relaxed); }

 private:
  uint32_t SegmentAmongFences(const rocksdb::Comparator& comparator, const rocksdb::Slice& key) const;
  // A fence without the prefix of all.
  rocksdb::Slice FenceRest(uint32_t segment) const {
    const uint32_t begin = segment == 0 ? 0 : FenceEnd(segment - 1);
    return rocksdb::Slice(reinterpret_cast<const char*>(fences_.rests) + begin, FenceEnd(segment) - begin);
  }
  uint32_t FenceEnd(uint32_t segment) const {
    if (fences_.end_bytes == sizeof(uint8_t)) {
      return fences_.ends[segment];
    }
    if (fences_.end_bytes == sizeof(uint16_t)) {
      uint16_t end;
      std::memcpy(&end, fences_.ends + segment * sizeof(end), sizeof(end));
      return end;
    }
    uint32_t end;
    std::memcpy(&end, fences_.ends + segment * sizeof(end), sizeof(end));
    return end;
  }

  // What each lookup needs is first, on one cache line.
  sb_table* const table_;
  const sb_fences fences_;
  // Several references of the table cache may say so at once.
  std::atomic<bool> obsolete_{false};
};

// Get, MultiGet and MultiGetFilter ask the units before the stock reader. RocksDB's Bloom tickers and perf counters count the
// answers as they count those of a stock filter.
class ElasticTableReader final : public ForwardingTableReader {
 public:
  ElasticTableReader(std::unique_ptr<rocksdb::TableReader> stock, TablePtr table,
                     const rocksdb::TableReaderOptions& options);

  rocksdb::Status Get(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                      rocksdb::GetContext* get_context, const rocksdb::SliceTransform* prefix_extractor,
                      bool skip_filters) override;
  void MultiGet(const rocksdb::ReadOptions& read_options, const rocksdb::MultiGetContext::Range* range,
                const rocksdb::SliceTransform* prefix_extractor, bool skip_filters) override;
  rocksdb::Status MultiGetFilter(const rocksdb::ReadOptions& read_options,
                                 const rocksdb::SliceTransform* prefix_extractor,
                                 rocksdb::MultiGetContext::Range* range) override;
  size_t ApproximateMemoryUsage() const override { return stock_.ApproximateMemoryUsage() + units_.MemoryBytes(); }
  void MarkObsolete(uint32_t uncache_aggressiveness) override {
    units_.MarkObsolete();
    stock_.MarkObsolete(uncache_aggressiveness);
  }

 private:
  // A key that is asked for, without timestamp.
  struct Sought {
    rocksdb::Slice key;
    sb_digest digest;
    uint32_t segment;
  };
  // Keys of a batch by their index in it.
  using BatchSought = std::array<Sought, rocksdb::MultiGetContext::MAX_BATCH_SIZE>;

  // Skips the keys that the units reject; gives what it sought.
  void SkipRejected(rocksdb::MultiGetContext::Range* range, BatchSought* sought) const;
  void CountAnswers(uint64_t rejected, uint64_t passed) const;
  // What a lookup that the units let pass turned out to be; nothing where that cannot be told. `internal_key`: what was looked for.
  void RecordPassed(const Sought& sought, const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                    rocksdb::GetContext::GetState before, const rocksdb::Status& status,
                    const rocksdb::GetContext& after) const;

  TableUnitsRef units_;
  const std::unique_ptr<rocksdb::TableReader> owned_stock_;
  const rocksdb::Comparator& comparator_;
  const size_t timestamp_bytes_;
  rocksdb::Statistics* const statistics_;
  const int level_;
  // A lookup at this sequence number or a later one sees every entry of the table.
  const rocksdb::SequenceNumber sees_all_from_;
};

}  // namespace springbloom
