// A table whose lookups ask the resident filter units first.
#pragma once

#include <array>
#include <atomic>
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
  explicit TableUnitsRef(TablePtr table) : table_(table.release()) {}
  ~TableUnitsRef() { sb_table_close(table_, obsolete_.load(std::memory_order_relaxed) ? 1 : 0); }
  TableUnitsRef(const TableUnitsRef&) = delete;
  TableUnitsRef& operator=(const TableUnitsRef&) = delete;

  // Whether the table may hold `key` (without timestamp), and in which segment.
  bool MayMatch(const sb_key_order& order, const sb_digest& digest, const rocksdb::Slice& key, uint32_t* segment) const {
    return sb_table_may_match(table_, &order, digest, Bytes(key), segment) != 0;
  }
  // `absent`: the table certainly has no entry of any age or kind for the key.
  void RecordWastedRead(uint32_t segment, const sb_digest& digest, const rocksdb::Slice& key, bool absent) const {
    sb_table_record_wasted_read(table_, segment, digest, Bytes(key), absent ? 1 : 0);
  }
  void RecordTruePositive(uint32_t segment) const { sb_table_record_true_positive(table_, segment); }
  size_t MemoryBytes() const { return sb_table_memory_bytes(table_); }
  void MarkObsolete() { obsolete_.store(true, std::memory_order_relaxed); }

 private:
  sb_table* const table_;
  // Several references of the table cache may say so at once.
  std::atomic<bool> obsolete_{false};
};

// Get, MultiGet and MultiGetFilter ask the units before the stock reader. RocksDB's Bloom tickers and perf counters count the
// answers as they count those of a stock filter.
class ElasticTableReader final : public ForwardingTableReader {
 public:
  // Owns the stock reader through the reference that it forwards to.
  ElasticTableReader(std::unique_ptr<rocksdb::TableReader> stock, TablePtr table,
                     const rocksdb::TableReaderOptions& options);
  ~ElasticTableReader() override;

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

  size_t TimestampBytes() const { return comparator_.timestamp_size(); }

  const rocksdb::Comparator& comparator_;
  rocksdb::Statistics* const statistics_;
  // A lookup at this sequence number or a later one sees every entry of the table.
  const rocksdb::SequenceNumber sees_all_from_;
  // Its last bytes are `level_`'s.
  [[no_unique_address]] TableUnitsRef units_;
  const int level_;
};

// There is one for every open table: what follows from its parts is not kept, and the allocator gives it 64 bytes.
static_assert(sizeof(ElasticTableReader) == 56);

}  // namespace springbloom
