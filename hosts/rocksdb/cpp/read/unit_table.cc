#include "read/unit_table.h"

#include <algorithm>

#include "owners.h"
#include "table/meta_blocks.h"
#include "write/unit_block_policy.h"

namespace springbloom {

using rocksdb::ImmutableOptions;
using rocksdb::RandomAccessFileReader;
using rocksdb::ReadOptions;
using rocksdb::Slice;

namespace {

constexpr uint64_t kTrailer = rocksdb::BlockBasedTable::kBlockTrailerSize;

bool ReadAt(const ReadOptions& read_options, bool verify, RandomAccessFileReader* file, uint64_t offset, uint64_t size,
            std::string* out) {
  rocksdb::IOOptions io_options;
  rocksdb::IODebugContext dbg;
  if (!release::PrepareIOOptions(*file, read_options, io_options, &dbg).ok()) {
    return false;
  }
  if (verify) {
    release::VerifyAndReconstruct(&io_options);
  }
  out->resize(size);
  Slice result;
  if (!release::ReadAt(*file, io_options, offset, size, &result, out->data(), &dbg).ok() || result.size() != size) {
    return false;
  }
  if (result.data() != out->data()) {
    out->assign(result.data(), result.size());
  }
  return true;
}

}  // namespace

bool UnitTable::ReadHead(const ReadOptions& read_options, bool verify, RandomAccessFileReader* file, std::string start) {
  head_.clear();
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  is_unreadable_ =
      start.empty() && !ReadAt(read_options, verify, file, block_.offset(), std::min(block_.size(), kFirstReadBytes), &start);
  if (is_unreadable_ || !sb_block_extent(Bytes(start), &head_bytes, &block_bytes) || block_bytes != block_.size()) {
    return false;
  }
  is_unreadable_ = head_bytes > start.size() && !ReadAt(read_options, verify, file, block_.offset(), head_bytes, &start);
  if (is_unreadable_) {
    return false;
  }
  start.resize(head_bytes);
  head_ = std::move(start);
  return true;
}

// The block is the first of the file's tail when the stock builder wrote it, so that its first bytes usually are where the tail
// begins: one read instead of footer, metaindex and block. Empty if it is not there.
std::optional<UnitTable> UnitTable::FindAtTail(const ReadOptions& read_options, uint64_t tail, RandomAccessFileReader* file,
                                               uint64_t file_size) {
  std::string start;
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  if (tail <= kTrailer || tail > file_size ||
      !ReadAt(read_options, /*verify=*/false, file, file_size - tail, std::min(tail, kFirstReadBytes), &start) ||
      !sb_block_extent(Bytes(start), &head_bytes, &block_bytes) || block_bytes > tail - kTrailer) {
    return std::nullopt;
  }
  UnitTable found(rocksdb::BlockHandle(file_size - tail, block_bytes), "");
  found.ReadHead(read_options, /*verify=*/false, file, std::move(start));
  return found;
}

std::optional<UnitTable> UnitTable::FindInMetaindex(const ReadOptions& read_options, const ImmutableOptions& ioptions,
                                                    RandomAccessFileReader* file, uint64_t file_size) {
  rocksdb::BlockHandle block;
  if (!rocksdb::FindMetaBlockInFile(file, file_size, rocksdb::kBlockBasedTableMagicNumber, ioptions, read_options,
                                    kUnitBlockMetaName, &block)
           .ok() ||
      block.size() == 0 || block.offset() > file_size || file_size - block.offset() < kTrailer ||
      file_size - block.offset() - kTrailer < block.size()) {
    return std::nullopt;
  }
  return UnitTable(block, "");
}

std::optional<UnitTable> UnitTable::Find(const ReadOptions& read_options, const ImmutableOptions& ioptions, uint64_t tail_size,
                                         RandomAccessFileReader* file, uint64_t file_size) {
  auto found = FindAtTail(read_options, tail_size, file, file_size);
  if (found) {
    return found;
  }
  found = FindInMetaindex(read_options, ioptions, file, file_size);
  // The block that is where the tail begins was read there, and found corrupt.
  if (found && found->block_.offset() != file_size - tail_size) {
    found->ReadHead(read_options, /*verify=*/false, file, "");
  }
  return found;
}

bool UnitTable::IsIn(const rocksdb::TableProperties& properties) {
  return properties.filter_policy_name == kUnitBlockPolicyName && properties.filter_size != 0;
}

uint64_t UnitTable::BytesBehind(uint64_t file_size) const { return file_size - (block_.offset() + block_.size() + kTrailer); }

int UnitTable::CheckHead(const ReadOptions& read_options, int contents, const ReadObjects& objects, RandomAccessFileReader* file,
                         uint64_t* units_at) {
  int why = sb_block_units(Bytes(head_), contents, units_at);
  if (why == SB_CORRUPT) {
    const bool can_reconstruct = release::CanVerifyAndReconstruct(objects.file_system.get());
    if (can_reconstruct) {
      release::CountCorruptionRetry(objects.statistics.get());
    }
    why = ReadHead(read_options, can_reconstruct, file, "") ? sb_block_units(Bytes(head_), contents, units_at) : SB_CORRUPT;
    if (can_reconstruct && why != SB_CORRUPT) {
      release::CountCorruptionRetrySuccess(objects.statistics.get());
    }
  }
  return why == SB_CORRUPT && is_unreadable_ ? SB_UNREADABLE : why;
}

int UnitTable::ReadHeadOf(const ReadOptions& read_options, int contents, const ReadObjects& objects, RandomAccessFileReader* file,
                          Head* head) {
  uint64_t units_at = 0;
  int why = CheckHead(read_options, contents, objects, file, &units_at);
  if (why != SB_OPENED || units_at == 0) {
    *head = {head_, block_.offset()};
    return why;
  }
  UnitTable behind(rocksdb::BlockHandle(block_.offset() + units_at, block_.size() - units_at), "");
  behind.ReadHead(read_options, /*verify=*/false, file, "");
  why = behind.CheckHead(read_options, contents, objects, file, &units_at);
  *head = {behind.head_, behind.block_.offset()};
  return why;
}

UnitHeads::UnitHeads(UnitTable* table, bool has_budget, bool may_have_prefixes, const ReadOptions& read_options,
                     const ReadObjects& objects, RandomAccessFileReader* file) {
  const int unread = has_budget ? SB_UNREADABLE : SB_NO_ROOM;
  const auto read = [&](int contents, UnitTable::Head* head) {
    return table == nullptr || !has_budget ? unread : table->ReadHeadOf(read_options, contents, objects, file, head);
  };
  keys_why = read(SB_KEYS, &keys);
  if (may_have_prefixes) {
    const bool is_read = keys_why == SB_OPENED || keys_why == SB_NO_SUCH_UNITS;
    prefixes_why = is_read ? read(SB_PREFIXES, &prefixes) : unread;
  }
}

}  // namespace springbloom
