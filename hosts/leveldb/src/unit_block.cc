#include "unit_block.h"

#include <algorithm>
#include <memory>
#include <random>

#include "file_access.h"
#include "filters.h"
#include "leveldb/iterator.h"

namespace springbloom {

using leveldb::BlockHandle;
using leveldb::RandomAccessFile;
using leveldb::Slice;
using leveldb::Status;

namespace {

// Enough for the head of most tables.
constexpr uint64_t kFirstReadBytes = 4096;
// Older builds take them for the largest sequence number of the table's entries, and this one for that of no lookup.
constexpr uint64_t kIgnored = UINT64_MAX;
constexpr size_t kIgnoredBytes = sizeof(kIgnored);

bool IsWithin(const BlockHandle& handle, uint64_t file_size) {
  return handle.offset() <= file_size && handle.size() <= file_size - handle.offset() &&
         leveldb::kBlockTrailerSize <= file_size - handle.offset() - handle.size();
}

// `size` bytes of a file; false on a failure.
bool ReadAt(const RandomAccessFile& file, uint64_t offset, size_t size, std::string* into) {
  into->resize(size);
  return ReadInto(file, offset, size, into->data());
}

}  // namespace

std::string NewIdentity() {
  std::random_device device;
  std::string identity;
  while (identity.size() < kIdentityBytes) {
    leveldb::PutFixed32(&identity, device());
  }
  return identity;
}

std::string UnitBlock::Encode() const {
  std::string value;
  handle.EncodeTo(&value);
  value += identity;
  leveldb::PutFixed64(&value, kIgnored);
  return value;
}

bool UnitBlock::Decode(Slice value, uint64_t file_size) {
  if (!handle.DecodeFrom(&value).ok() || value.size() != kIdentityBytes + kIgnoredBytes || !IsWithin(handle, file_size)) {
    return false;
  }
  identity.assign(value.data(), kIdentityBytes);
  return true;
}

int UnitBlock::Find(RandomAccessFile* file, uint64_t file_size) {
  constexpr size_t kFooter = leveldb::Footer::kEncodedLength;
  std::string bytes;
  if (file_size < kFooter || !ReadAt(*file, file_size - kFooter, kFooter, &bytes)) {
    return SB_UNREADABLE;
  }
  leveldb::Footer footer;
  Slice input(bytes);
  // ReadBlock allocates what the handle says.
  if (!footer.DecodeFrom(&input).ok() || !IsWithin(footer.metaindex_handle(), file_size)) {
    return SB_CORRUPT;
  }
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  leveldb::BlockContents contents;
  const Status s = ReadBlock(file, options, footer.metaindex_handle(), &contents);
  if (!s.ok()) {
    return s.IsIOError() ? SB_UNREADABLE : SB_CORRUPT;
  }
  leveldb::Block metaindex(contents);
  const std::unique_ptr<leveldb::Iterator> entry(metaindex.NewIterator(leveldb::BytewiseComparator()));
  entry->Seek(kUnitBlockName);
  const bool has_units = entry->Valid() && entry->key() == Slice(kUnitBlockName);
  return has_units && Decode(entry->value(), file_size) ? SB_OPENED : SB_NO_SUCH_UNITS;
}

int UnitBlock::ReadHead(RandomAccessFile* file, uint64_t file_size, std::string* head) {
  if (const int why = Find(file, file_size); why != SB_OPENED) {
    return why;
  }
  if (!ReadAt(*file, handle.offset(), std::min(handle.size(), kFirstReadBytes), head)) {
    return SB_UNREADABLE;
  }
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  if (!sb_block_extent(Bytes(*head), &head_bytes, &block_bytes) || block_bytes != handle.size() || head_bytes > block_bytes) {
    return SB_CORRUPT;
  }
  if (head_bytes > head->size() && !ReadAt(*file, handle.offset(), head_bytes, head)) {
    return SB_UNREADABLE;
  }
  head->resize(head_bytes);
  return SB_OPENED;
}

}  // namespace springbloom
