#include "read/whole_index.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "owners.h"
#include "read/file_reader.h"
#include "read/unit_table.h"

namespace springbloom {

using rocksdb::Block;
using rocksdb::BlockBasedTable;
using rocksdb::BlockBasedTableOptions;
using rocksdb::BlockContents;
using rocksdb::BlockHandle;
using rocksdb::IndexBlockIter;
using rocksdb::IndexValue;
using rocksdb::PinningTier;
using rocksdb::Slice;

namespace {

// Of an index in memory, about.
constexpr uint64_t kBytes = 256;
constexpr uint64_t kBytesPerBlock = 4;

// Takes the entries of an index, in their order.
using TakeEntry = std::function<void(const Slice& key, const BlockHandle& handle)>;

// Reads the entries of an index block, or of a partition.
bool ReadEntries(const BlockBasedTable::Rep& table, const rocksdb::ImmutableOptions& options,
                 rocksdb::RandomAccessFileReader* file, rocksdb::FilePrefetchBuffer* buffer, const BlockHandle& handle,
                 const TakeEntry& take) {
  BlockContents contents;
  if (!release::ReadIndexBlock(table, options, file, buffer, handle, &contents)) {
    return false;
  }
  Block block(std::move(contents));
  IndexBlockIter entry;
  release::IndexEntries(block, table, &entry);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    take(entry.key(), entry.value().handle);
  }
  return entry.status().ok();
}

using Cursor = std::unique_ptr<sb_index_cursor, FreeBy<sb_index_cursor_free>>;

// Where blocks lie, from the resident index: what an iterator over stock's index says.
class WholeIndexIterator final : public rocksdb::InternalIteratorBase<IndexValue> {
 public:
  explicit WholeIndexIterator(Cursor cursor) : cursor_(std::move(cursor)) {}

  bool Valid() const override { return is_valid_; }
  void SeekToFirst() override { Move(SB_FIRST); }
  void SeekToLast() override { Move(SB_LAST); }
  void Seek(const Slice& target) override { Move(SB_SEEK, rocksdb::ExtractUserKey(target)); }
  void SeekForPrev(const Slice&) override { is_valid_ = false; }  // nobody calls it, as with stock's
  void Next() override { Move(SB_NEXT); }
  void Prev() override { Move(SB_PREVIOUS); }
  // Separators have no sequence numbers. Gets do not ask for them.
  Slice key() const override { return ToSlice(sb_index_separator(cursor_.get())); }
  Slice user_key() const override { return key(); }
  IndexValue value() const override { return {BlockHandle(offset_, size_), Slice()}; }
  rocksdb::Status status() const override { return rocksdb::Status::OK(); }

 private:
  void Move(sb_move to, const Slice& key = Slice()) {
    is_valid_ = sb_index_move(cursor_.get(), to, Bytes(key), &offset_, &size_) != 0;
  }

  const Cursor cursor_;
  uint64_t offset_ = 0;
  uint64_t size_ = 0;
  bool is_valid_ = false;
};

}  // namespace

bool ComesAndGoes(const BlockBasedTableOptions& options, BlockBasedTableOptions::IndexType type) {
  const auto& pinning = options.metadata_cache_options;
  const bool is_partitioned = type == BlockBasedTableOptions::kTwoLevelIndexSearch;
  const bool is_whole = type == BlockBasedTableOptions::kBinarySearch;
  const PinningTier tier = is_partitioned ? pinning.partition_pinning : pinning.unpartitioned_pinning;
  return options.block_cache != nullptr && (is_partitioned || (is_whole && options.cache_index_and_filter_blocks)) &&
         tier != PinningTier::kAll && tier != PinningTier::kFlushedAndSimilar;
}

uint64_t WholeIndexBytes(const BlockBasedTable::Rep& table) {
  const BlockBasedTableOptions& options = table.table_options;
  // In a damaged index, stock code may find other blocks than a reader of all entries. Only a checksum tells the damage.
  const bool is_checked = table.footer.checksum_type() != rocksdb::kNoChecksum;
  const bool is_bytewise = table.internal_comparator.user_comparator() == rocksdb::BytewiseComparator();
  if (!release::CanReadIndex(options) || !ComesAndGoes(options, table.index_type) || !is_bytewise || !is_checked ||
      table.index_has_first_key || table.index_key_includes_seq) {
    return 0;
  }
  return kBytes + kBytesPerBlock * table.table_properties->num_data_blocks;
}

bool ReadWholeIndex(const BlockBasedTable::Rep& table, const rocksdb::ImmutableOptions& options, void* context,
                    TakeIndexEntry take_one) {
  const auto take = [&](const Slice& separator, const BlockHandle& block) {
    const sb_index_entry entry{Bytes(separator), block.offset(), block.size()};
    take_one(context, &entry);
  };
  rocksdb::RandomAccessFileReader file = ReaderOf(table.file->file(), table.file->file_name());
  if (table.index_type != BlockBasedTableOptions::kTwoLevelIndexSearch) {
    return ReadEntries(table, options, &file, /*buffer=*/nullptr, table.index_handle, take);
  }
  std::vector<BlockHandle> handles;
  const bool is_read = ReadEntries(table, options, &file, /*buffer=*/nullptr, table.index_handle,
                                   [&](const Slice&, const BlockHandle& handle) { handles.push_back(handle); });
  if (!is_read || handles.empty()) {
    return false;
  }
  const uint64_t from = handles.front().offset();
  const uint64_t to = handles.back().offset() + BlockBasedTable::BlockSizeWithTrailer(handles.back());
  if (from >= to || to > table.file_size) {
    return false;
  }
  rocksdb::FilePrefetchBuffer partitions;
  // It does not take what lies in memory.
  rocksdb::FilePrefetchBuffer* const buffer = options.allow_mmap_reads ? nullptr : &partitions;
  if (buffer != nullptr && !buffer->Prefetch(rocksdb::IOOptions(), &file, from, to - from).ok()) {
    return false;
  }
  return std::all_of(handles.begin(), handles.end(),
                     [&](const BlockHandle& partition) { return ReadEntries(table, options, &file, buffer, partition, take); });
}

void WholeIndexReader::InstallInto(rocksdb::TableReader* stock, const sb_table* units) {
  BlockBasedTable::Rep& table = *static_cast<BlockBasedTable*>(stock)->get_rep();
  table.index_reader = std::make_unique<WholeIndexReader>(std::move(table.index_reader), units);
}

WholeIndexReader* WholeIndexReader::Of(const rocksdb::TableReader& stock) {
  return static_cast<WholeIndexReader*>(RepOf(stock).index_reader.get());
}

rocksdb::InternalIteratorBase<IndexValue>* WholeIndexReader::NewIterator(const rocksdb::ReadOptions& read_options,
                                                                         bool disable_prefix_seek, IndexBlockIter* iter,
                                                                         rocksdb::GetContext* get_context,
                                                                         rocksdb::BlockCacheLookupContext* lookup_context) {
  // What verifies the file reads it.
  const bool verifies = lookup_context != nullptr && lookup_context->caller == rocksdb::TableReaderCaller::kUserVerifyChecksum;
  Cursor cursor(units_ == nullptr || verifies ? nullptr : sb_table_index(units_));
  if (cursor == nullptr) {
    return Inner().NewIterator(read_options, disable_prefix_seek, iter, get_context, lookup_context);
  }
  return new WholeIndexIterator(std::move(cursor));
}

}  // namespace springbloom
