#include "read/unit_table.h"

#include <algorithm>

#include "owners.h"
#include "table/meta_blocks.h"
#include "write/elastic_table_builder.h"

namespace springbloom {

using rocksdb::BlockHandle;
using rocksdb::IOOptions;
using rocksdb::RandomAccessFileReader;

namespace {

constexpr uint64_t kTrailer = rocksdb::BlockBasedTable::kBlockTrailerSize;

bool ReadAt(const IOOptions& io_options, RandomAccessFileReader* file, uint64_t offset, uint64_t size, std::string* out) {
  out->resize(size);
  return ReadInto(*file, io_options, offset, size, out->data());
}

}  // namespace

bool UnitTable::ReadHead(const IOOptions& io_options, RandomAccessFileReader* file, std::string start) {
  head_.clear();
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  is_unreadable_ = start.empty() && !ReadAt(io_options, file, block_.offset(), std::min(block_.size(), kFirstReadBytes), &start);
  if (is_unreadable_ || !sb_block_extent(Bytes(start), &head_bytes, &block_bytes) || block_bytes != block_.size()) {
    return false;
  }
  is_unreadable_ = head_bytes > start.size() && !ReadAt(io_options, file, block_.offset(), head_bytes, &start);
  if (is_unreadable_) {
    return false;
  }
  start.resize(head_bytes);
  head_ = std::move(start);
  return true;
}

// The block is the first of the file's tail when the stock builder wrote it, so that its first bytes usually are where the tail
// begins: one read instead of footer, metaindex and block. Empty if it is not there.
std::optional<UnitTable> UnitTable::FindAtTail(const IOOptions& io_options, uint64_t tail, RandomAccessFileReader* file,
                                               uint64_t file_size) {
  std::string start;
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  if (tail <= kTrailer || tail > file_size ||
      !ReadAt(io_options, file, file_size - tail, std::min(tail, kFirstReadBytes), &start) ||
      !sb_block_extent(Bytes(start), &head_bytes, &block_bytes) || block_bytes > tail - kTrailer) {
    return std::nullopt;
  }
  UnitTable found(io_options, BlockHandle(file_size - tail, block_bytes));
  found.ReadHead(io_options, file, std::move(start));
  return found;
}

std::optional<UnitTable> UnitTable::Find(const rocksdb::ReadOptions& read_options, const rocksdb::ImmutableOptions& ioptions,
                                         uint64_t tail_size, RandomAccessFileReader* file, uint64_t file_size) {
  IOOptions io_options;
  if (!file->PrepareIOOptions(read_options, io_options).ok()) {
    return std::nullopt;
  }
  if (auto found = FindAtTail(io_options, tail_size, file, file_size)) {
    return found;
  }
  BlockHandle block;
  if (!rocksdb::FindMetaBlockInFile(file, file_size, rocksdb::kBlockBasedTableMagicNumber, ioptions, read_options,
                                    kUnitBlockMetaName, &block)
           .ok() ||
      block.size() == 0 || block.offset() > file_size || file_size - block.offset() < kTrailer ||
      file_size - block.offset() - kTrailer < block.size()) {
    return std::nullopt;
  }
  UnitTable found(io_options, block);
  // The block that is where the tail begins was read there, and found corrupt.
  if (block.offset() != file_size - tail_size) {
    found.ReadHead(io_options, file, "");
  }
  return found;
}

bool UnitTable::IsIn(const rocksdb::TableProperties& properties) {
  return properties.filter_policy_name == kUnitBlockPolicyName && properties.filter_size != 0;
}

uint64_t UnitTable::BytesBehind(uint64_t file_size) const { return file_size - (block_.offset() + block_.size() + kTrailer); }

int UnitTable::CheckHead(int contents, const ReadObjects& objects, RandomAccessFileReader* file, uint64_t* units_at) {
  int why = sb_block_units(Bytes(head_), contents, units_at);
  if (why == SB_CORRUPT) {
    IOOptions again(io_options_);
    const bool reconstructs = release::AskToReconstruct(objects.file_system.get(), objects.statistics.get(), &again);
    why = ReadHead(again, file, "") ? sb_block_units(Bytes(head_), contents, units_at) : SB_CORRUPT;
    if (reconstructs && why != SB_CORRUPT) {
      release::CountReconstructed(objects.statistics.get());
    }
  }
  return why == SB_CORRUPT && is_unreadable_ ? SB_UNREADABLE : why;
}

UnitTable::Head UnitTable::ReadHeadOf(int contents, const ReadObjects& objects, RandomAccessFileReader* file) {
  uint64_t units_at = 0;
  int why = CheckHead(contents, objects, file, &units_at);
  if (why != SB_OPENED || units_at == 0) {
    return {why, head_, block_.offset()};
  }
  UnitTable behind(io_options_, BlockHandle(block_.offset() + units_at, block_.size() - units_at));
  behind.ReadHead(io_options_, file, "");
  why = behind.CheckHead(contents, objects, file, &units_at);
  return {why, behind.head_, behind.block_.offset()};
}

}  // namespace springbloom
