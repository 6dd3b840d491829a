// A table whose lookups ask the resident filter units first, once it has its units.
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "read/prefix_filter.h"
#include "read/table_file.h"
#include "read/table_filter.h"
#include "read/unit_table.h"
#include "table/get_context.h"
#include "table/multiget_context.h"
#include "table/table_builder.h"

namespace springbloom {

// Get, MultiGet (also as coroutines, which RocksDB makes of them) and MultiGetFilter ask the units before the stock reader. RocksDB's Bloom
// tickers and perf counters count the answers as they count those of a stock filter. Without units, all lookups go to the stock reader.
class ElasticTableReader final : public release::ForwardingTableReader {
 public:
  // `level`: -1 if it is not known.
  ElasticTableReader(std::unique_ptr<rocksdb::TableReader> stock, ColumnFamilyRef family, int level);
  ~ElasticTableReader() override;

  // Opens the units over keys, or over prefixes, which stock code asks then; once, before lookups begin.
  void Open(int contents, const UnitTable::Head& head);
  // Units over keys.
  bool HasUnits() const { return units_.IsOpen(); }

  // Every lookup asks before Get: where there are none, a rejected key touches nothing of the stock reader.
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(const rocksdb::ReadOptions& read_options) override {
    return has_range_tombstones_ ? Inner().NewRangeTombstoneIterator(read_options) : nullptr;
  }
  rocksdb::FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(rocksdb::SequenceNumber read_seqno,
                                                                       const rocksdb::Slice* timestamp) override {
    return has_range_tombstones_ ? Inner().NewRangeTombstoneIterator(read_seqno, timestamp) : nullptr;
  }
  rocksdb::InternalIterator* NewIterator(const rocksdb::ReadOptions& read_options,
                                         const rocksdb::SliceTransform* prefix_extractor, rocksdb::Arena* arena,
                                         bool skip_filters, rocksdb::TableReaderCaller caller, size_t compaction_readahead_size,
                                         bool allow_unprepared_value) override;
  rocksdb::Status Get(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                      rocksdb::GetContext* get_context, const rocksdb::SliceTransform* prefix_extractor,
                      bool skip_filters) override;
  void MultiGet(const rocksdb::ReadOptions& read_options, const rocksdb::MultiGetContext::Range* range,
                const rocksdb::SliceTransform* prefix_extractor, bool skip_filters) override;
  rocksdb::Status MultiGetFilter(const rocksdb::ReadOptions& read_options, const rocksdb::SliceTransform* prefix_extractor,
                                 rocksdb::MultiGetContext::Range* range) override;
  size_t ApproximateMemoryUsage() const override {
    return Inner().ApproximateMemoryUsage() + (HasUnits() ? units_.MemoryBytes() : 0);
  }
  void MarkObsolete(uint32_t uncache_aggressiveness) override;

 private:
  // Keys of a batch, without timestamp.
  using BatchKeys = std::array<sb_batch_key, rocksdb::MultiGetContext::MAX_BATCH_SIZE>;

  // Whether the units let the key pass, and the segment that would have it.
  bool MayMatch(const rocksdb::Slice& internal_key, uint32_t* segment) const;
  // Skips the keys that the units reject, after `on_rejected(KeyContext*)`. Gives the others, in their order.
  template <typename OnRejected>
  void SkipRejected(rocksdb::MultiGetContext::Range* range, BatchKeys* passed, bool counts, const OnRejected& on_rejected) const;
  // After a rejection: looks the key up all the same if the settings ask for that. What is found counts.
  rocksdb::Status Verified(const rocksdb::ReadOptions& read_options, const rocksdb::Slice& internal_key,
                           rocksdb::GetContext* get_context, const rocksdb::SliceTransform* prefix_extractor);
  // The units over prefixes; null without them.
  PrefixFilter* Prefixes() const { return PrefixFilter::Of(Inner()); }
  void CountAnswers(uint64_t rejected, uint64_t passed) const;
  // Counts the blocks that a lookup read past the block cache, which had missed `misses_before` blocks for it before.
  void CountBlockReads(uint64_t misses_before, const rocksdb::GetContext& after) const;
  // Whether stock code counts the keys that pass, because it has a filter to ask.
  bool StockCounts() const { return Prefixes() != nullptr; }
  // Records how a lookup ended that asked for a prefix and no units over keys.
  void RecordPrefixPassed(rocksdb::GetContext::GetState before, const rocksdb::Status& status,
                          const rocksdb::GetContext& after) const;
  // Records how a lookup ended that the units let pass, if it tells whether the table was read for nothing.
  void RecordPassed(uint32_t segment, const rocksdb::ReadOptions& read_options, rocksdb::GetContext::GetState before,
                    const rocksdb::Status& status, const rocksdb::GetContext& after) const;

  rocksdb::Statistics* Statistics() const { return units_.Family().objects->statistics.get(); }
  size_t TimestampBytes() const { return units_.Family().comparator->timestamp_size(); }

  // Shared with reads of its file that are under way. It owns the stock reader.
  TableFile::Ref file_;
  // The flags behind it lie in its last word.
  [[no_unique_address]] TableFilter units_;
  // Atomic: several references of the table cache may mark it at once.
  std::atomic<bool> obsolete_{false};
  const bool has_range_tombstones_;
  bool has_whole_index_ = false;
  const int level_;
};

// There is one for every open table.
static_assert(sizeof(ElasticTableReader) == 56);

}  // namespace springbloom
