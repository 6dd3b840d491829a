#include "unit_table.h"

#include <algorithm>

#include "key_order.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/block_based_table_builder.h"
#include "table/meta_blocks.h"
#include "unit_block_policy.h"

namespace springbloom {

using rocksdb::ImmutableOptions;
using rocksdb::RandomAccessFileReader;
using rocksdb::ReadOptions;
using rocksdb::Slice;

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
std::optional<rocksdb::BlockHandle> UnitTable::FindAtTail(const ReadOptions& read_options, uint64_t tail,
                                                          RandomAccessFileReader* file, uint64_t file_size,
                                                          std::string* start) {
  constexpr uint64_t kTrailer = rocksdb::BlockBasedTable::kBlockTrailerSize;
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
                                                               const ImmutableOptions& ioptions,
                                                               RandomAccessFileReader* file, uint64_t file_size,
                                                               std::string* start) {
  constexpr uint64_t kTrailer = rocksdb::BlockBasedTable::kBlockTrailerSize;
  rocksdb::BlockHandle block;
  if (!rocksdb::FindMetaBlockInFile(file, file_size, rocksdb::kBlockBasedTableMagicNumber, ioptions,
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

std::optional<UnitTable> UnitTable::Find(const ReadOptions& read_options, const ImmutableOptions& ioptions,
                                         uint64_t tail_size, RandomAccessFileReader* file, uint64_t file_size) {
  std::string head;
  auto block = FindAtTail(read_options, tail_size, file, file_size, &head);
  if (!block) {
    block = FindInMetaindex(read_options, ioptions, file, file_size, &head);
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

int UnitTable::Open(const ColumnFamily& family, int level, const rocksdb::TableProperties& properties,
                    sb_table* table) const {
  sb_table_spec spec{};
  spec.path = Bytes(path_);
  spec.session = Bytes(properties.db_session_id);
  spec.file_number = properties.orig_file_number;
  spec.level = level;
  spec.order = KeyOrder(*family.comparator);
  spec.head = Bytes(head_);
  spec.block_offset = block_.offset();
  const int why = sb_table_open(family.elastic.get(), family.family_, &spec, table);
  if (why == SB_NO_ROOM) {
    family.WarnOfNoRoom();
  } else if (why != SB_OPENED) {
    rocksdb::Warn(family.log, "springbloom: %s is read without filter units: its filter block is damaged or of a newer version",
                  path_.c_str());
  }
  return why;
}

}  // namespace springbloom
