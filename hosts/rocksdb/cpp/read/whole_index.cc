#include "read/whole_index.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "owners.h"
#include "read/table_file.h"
#include "read/unit_table.h"
#include "write/small_index.h"

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

// What an index begins with: how the block behind it has its values.
enum ValueForm : char { kDelta, kFull };

// Takes the entries of an index, in their order.
using TakeEntry = std::function<void(const Slice& key, const BlockHandle& handle)>;

// Bytes of a file that were read.
class BytesRead final : public rocksdb::FSRandomAccessFile {
 public:
  BytesRead(uint64_t offset, std::string bytes) : offset_(offset), bytes_(std::move(bytes)) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t size, const rocksdb::IOOptions&, Slice* result, char*,
                         rocksdb::IODebugContext*) const override {
    if (offset < offset_ || offset - offset_ > bytes_.size() || size > bytes_.size() - (offset - offset_)) {
      return rocksdb::IOStatus::Corruption("a partition lies elsewhere than the others");
    }
    *result = Slice(bytes_.data() + (offset - offset_), size);
    return rocksdb::IOStatus::OK();
  }

 private:
  const uint64_t offset_;
  const std::string bytes_;
};

// Reads the entries of an index block, or of a partition.
bool ReadEntries(const BlockBasedTable::Rep& table, const rocksdb::ImmutableOptions& options,
                 rocksdb::RandomAccessFileReader* file, const BlockHandle& handle, const TakeEntry& take) {
  BlockContents contents;
  if (!release::ReadIndexBlock(table, options, file, handle, &contents)) {
    return false;
  }
  Block block(std::move(contents));
  // Nothing is sought, so that the order does not matter.
  IndexBlockIter entry;
  release::IndexEntries(block, table, rocksdb::BytewiseComparator(), &entry, /*is_of_table=*/true, table.index_value_is_full);
  for (entry.SeekToFirst(); entry.Valid(); entry.Next()) {
    take(entry.key(), entry.value().handle);
  }
  return entry.status().ok();
}

uint64_t EndOf(const BlockHandle& handle) { return handle.offset() + BlockBasedTable::BlockSizeWithTrailer(handle); }

// Reads all entries of a table's index.
bool ReadEntries(const BlockBasedTable::Rep& table, const rocksdb::ImmutableOptions& options, const TakeEntry& take) {
  rocksdb::RandomAccessFileReader file = ReaderOf(table.file->file(), table.file->file_name());
  if (table.index_type != BlockBasedTableOptions::kTwoLevelIndexSearch) {
    return ReadEntries(table, options, &file, table.index_handle, take);
  }
  std::vector<BlockHandle> handles;
  const bool is_read = ReadEntries(table, options, &file, table.index_handle,
                                   [&](const Slice&, const BlockHandle& handle) { handles.push_back(handle); });
  if (!is_read || handles.empty()) {
    return false;
  }
  const uint64_t from = handles.front().offset();
  const uint64_t to = EndOf(handles.back());
  if (from >= to || to > table.file_size) {
    return false;
  }
  std::string bytes(to - from, '\0');
  if (!ReadInto(file, rocksdb::IOOptions(), from, bytes.size(), reinterpret_cast<uint8_t*>(bytes.data()))) {
    return false;
  }
  rocksdb::RandomAccessFileReader partitions(std::make_unique<BytesRead>(from, std::move(bytes)), table.file->file_name());
  return std::all_of(handles.begin(), handles.end(),
                     [&](const BlockHandle& partition) { return ReadEntries(table, options, &partitions, partition, take); });
}

void Release(void* index, void*) { sb_index_release(static_cast<const sb_index*>(index)); }

}  // namespace

uint64_t WholeIndexBytes(const BlockBasedTable::Rep& table) {
  const BlockBasedTableOptions& options = table.table_options;
  const auto& pinning = options.metadata_cache_options;
  const bool is_partitioned = table.index_type == BlockBasedTableOptions::kTwoLevelIndexSearch;
  const bool is_whole = table.index_type == BlockBasedTableOptions::kBinarySearch;
  const PinningTier tier = is_partitioned ? pinning.partition_pinning : pinning.unpartitioned_pinning;
  const bool comes_and_goes = options.block_cache != nullptr && (is_partitioned || options.cache_index_and_filter_blocks) &&
                              tier != PinningTier::kAll && tier != PinningTier::kFlushedAndSimilar;
  if (!release::kCanReadIndexBlocks || !comes_and_goes || !(is_partitioned || is_whole) || table.index_has_first_key ||
      !table.user_defined_timestamps_persisted || release::HasOwnIndex(options)) {
    return 0;
  }
  const rocksdb::TableProperties& properties = *table.table_properties;
  return properties.index_size - (is_partitioned ? std::min(properties.index_size, properties.top_level_index_size) : 0);
}

bool ReadWholeIndex(const BlockBasedTable::Rep& table, const rocksdb::ImmutableOptions& options, std::string* index) {
  for (const ValueForm form : {kDelta, kFull}) {
    rocksdb::BlockBuilder block = release::IndexBlockBuilder(kSmallIndexRestartInterval, form == kFull);
    BlockHandle last = BlockHandle::NullBlockHandle();
    bool has_gap = false;
    const bool is_read = ReadEntries(table, options, [&](const Slice& key, const BlockHandle& handle) {
      std::string whole;
      std::string difference;
      release::EncodeIndexValue(handle, /*previous=*/nullptr, &whole);
      has_gap = has_gap || (!last.IsNull() && handle.offset() != EndOf(last));
      if (form == kDelta && !last.IsNull() && !has_gap) {
        release::EncodeIndexValue(handle, &last, &difference);
      }
      const Slice after_others(difference);
      block.Add(key, whole, &after_others);
      last = handle;
    });
    if (!is_read || last.IsNull()) {
      return false;
    }
    // Blocks that do not follow one another have no difference.
    if (form == kFull || !has_gap) {
      index->assign(1, form);
      const Slice built = block.Finish();
      index->append(built.data(), built.size());
      return true;
    }
  }
  return false;
}

void WholeIndexReader::Plant(rocksdb::TableReader* stock, const sb_table* units) {
  BlockBasedTable::Rep& table = *static_cast<BlockBasedTable*>(stock)->get_rep();
  table.index_reader = std::make_unique<WholeIndexReader>(std::move(table.index_reader), table, units);
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
  sb_bytes bytes{};
  const sb_index* const index = units_ == nullptr || verifies ? nullptr : sb_table_index(units_, &bytes);
  if (index == nullptr) {
    return Inner().NewIterator(read_options, disable_prefix_seek, iter, get_context, lookup_context);
  }
  const Slice whole = ToSlice(bytes);
  // The iterator knows the bytes, and not this.
  Block block(BlockContents(Slice(whole.data() + 1, whole.size() - 1)));
  IndexBlockIter* const entries = release::IndexEntries(block, table_, table_.internal_comparator.user_comparator(), iter,
                                                        /*is_of_table=*/false, whole[0] == kFull);
  entries->RegisterCleanup(&Release, const_cast<sb_index*>(index), nullptr);
  return entries;
}

}  // namespace springbloom
