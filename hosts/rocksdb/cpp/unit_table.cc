#include "unit_table.h"

#include <algorithm>

#include "file_access.h"
#include "rocksdb/env.h"
#include "options/cf_options.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/block_based_table_builder.h"
#include "table/meta_blocks.h"
#include "unit_block_policy.h"

namespace springbloom {

using rocksdb::RandomAccessFileReader;
using rocksdb::ReadOptions;
using rocksdb::Slice;
using rocksdb::TableReaderOptions;

namespace {

// Most directories end within it, so that header and directory come in one read.
constexpr uint64_t kFirstReadBytes = 4096;

bool ReadAt(const ReadOptions& read_options, RandomAccessFileReader* file, uint64_t offset, uint64_t size,
            std::string* out) {
  rocksdb::IOOptions io_options;
  rocksdb::IODebugContext dbg;
  if (!file->PrepareIOOptions(read_options, io_options, &dbg).ok()) {
    return false;
  }
  out->resize(size);
  Slice result;
  if (!file->Read(io_options, offset, size, &result, out->data(), nullptr, &dbg).ok() || result.size() != size) {
    return false;
  }
  if (result.data() != out->data()) {
    out->assign(result.data(), result.size());
  }
  return true;
}

}  // namespace

// The block is the first of the file's tail when the stock builder wrote it, so that its first bytes usually are where the tail
// begins: one read instead of footer, metaindex and block. Empty if it is not there.
std::optional<rocksdb::BlockHandle> UnitTable::FindAtTail(const ReadOptions& read_options,
                                                          const TableReaderOptions& reader_options,
                                                          RandomAccessFileReader* file, uint64_t file_size,
                                                          std::string* start) {
  constexpr uint64_t kTrailer = rocksdb::BlockBasedTable::kBlockTrailerSize;
  const uint64_t tail = reader_options.tail_size;
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  if (tail <= kTrailer || tail > file_size ||
      !ReadAt(read_options, file, file_size - tail, std::min(tail, kFirstReadBytes), start) ||
      !sb_block_extent(Bytes(*start), &head_bytes, &block_bytes) || block_bytes > tail - kTrailer) {
    return std::nullopt;
  }
  return rocksdb::BlockHandle(file_size - tail, block_bytes);
}

std::optional<rocksdb::BlockHandle> UnitTable::FindInMetaindex(const ReadOptions& read_options,
                                                               const TableReaderOptions& reader_options,
                                                               RandomAccessFileReader* file, uint64_t file_size,
                                                               std::string* start) {
  constexpr uint64_t kTrailer = rocksdb::BlockBasedTable::kBlockTrailerSize;
  rocksdb::BlockHandle block;
  if (!rocksdb::FindMetaBlockInFile(file, file_size, rocksdb::kBlockBasedTableMagicNumber, reader_options.ioptions,
                                    read_options, kUnitBlockMetaName, &block)
           .ok() ||
      block.IsNull() || block.offset() > file_size || file_size - block.offset() < kTrailer ||
      file_size - block.offset() - kTrailer < block.size()) {
    return std::nullopt;
  }
  if (!ReadAt(read_options, file, block.offset(), std::min(block.size(), kFirstReadBytes), start)) {
    start->clear();
  }
  return block;
}

std::optional<UnitTable> UnitTable::Find(const ReadOptions& read_options, const TableReaderOptions& reader_options,
                                         RandomAccessFileReader* file, uint64_t file_size) {
  std::string head;
  auto block = FindAtTail(read_options, reader_options, file, file_size, &head);
  if (!block) {
    block = FindInMetaindex(read_options, reader_options, file, file_size, &head);
  }
  if (!block) {
    return std::nullopt;
  }
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  // A damaged head is reported when the table is opened; where the block ends is known all the same.
  if (!sb_block_extent(Bytes(head), &head_bytes, &block_bytes) || block_bytes != block->size() ||
      (head_bytes > head.size() && !ReadAt(read_options, file, block->offset(), head_bytes, &head))) {
    head.clear();
  } else {
    head.resize(head_bytes);
  }
  return UnitTable(file->file_name(), *block, std::move(head));
}

uint64_t UnitTable::BytesBehind(uint64_t file_size) const {
  return file_size - (block_.offset() + block_.size() + rocksdb::BlockBasedTable::kBlockTrailerSize);
}

std::optional<OpenTable> UnitTable::Open(const ElasticRef& elastic, const TableReaderOptions& reader_options,
                                         const rocksdb::TableProperties& properties, int* why) const {
  // A database's directory and the column family's id: what stays the same while tables come and go.
  const std::string scope =
      path_.substr(0, path_.find_last_of('/') + 1) + "#" + std::to_string(properties.column_family_id);
  const rocksdb::Comparator* comparator = reader_options.internal_comparator.user_comparator();
  sb_table_spec spec{};
  spec.path = Bytes(path_);
  spec.session = Bytes(properties.db_session_id);
  spec.file_number = properties.orig_file_number;
  spec.scope = Bytes(scope);
  spec.level = reader_options.level;
  spec.order = KeyOrder(*comparator);
  spec.head = Bytes(head_);
  spec.block_offset = block_.offset();
  spec.files = FileAccess::Make(reader_options.ioptions.fs, reader_options.env_options);
  sb_table table;
  *why = sb_table_open(elastic.get(), &spec, &table);
  if (*why != SB_OPENED) {
    rocksdb::Warn(reader_options.ioptions.logger, "springbloom: %s is read without filter units: %s", path_.c_str(),
                   *why == SB_NO_ROOM ? "the budget has no room for its bookkeeping"
                                     : "its filter block is damaged or of a newer version");
    return std::nullopt;
  }
  return OpenTable(CommonsRef(ReaderCommons{elastic, comparator, reader_options.ioptions.stats}), table);
}

}  // namespace springbloom
