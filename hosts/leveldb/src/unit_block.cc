#include "unit_block.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

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

std::string Fixed64(uint64_t value) {
  std::string bytes(8, '\0');
  for (size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = static_cast<char>(value >> (8 * at));
  }
  return bytes;
}

bool IsWithin(const BlockHandle& handle, uint64_t file_size) {
  return handle.offset() <= file_size && handle.size() <= file_size - handle.offset() &&
         leveldb::kBlockTrailerSize <= file_size - handle.offset() - handle.size();
}

UnitBlock::Outcome Failed(const Status& s) { return s.IsIOError() ? UnitBlock::kUnreadable : UnitBlock::kDamaged; }

}  // namespace

std::string NewIdentity() {
  std::random_device device;
  const auto word = [&] { return Fixed64(uint64_t{device()} << 32 | device()); };
  return word() + word();
}

bool ReadAt(const RandomAccessFile& file, uint64_t offset, size_t size, std::string* into) {
  into->resize(size);
  Slice result;
  if (!file.Read(offset, size, &result, into->data()).ok() || result.size() != size) {
    return false;
  }
  if (result.data() != into->data()) {
    into->assign(result.data(), size);
  }
  return true;
}

std::string UnitBlock::Encode() const {
  std::string value;
  handle.EncodeTo(&value);
  return value + identity + Fixed64(kIgnored);
}

bool UnitBlock::Decode(Slice value, uint64_t file_size) {
  if (!handle.DecodeFrom(&value).ok() || value.size() != kIdentityBytes + kIgnoredBytes || !IsWithin(handle, file_size)) {
    return false;
  }
  identity.assign(value.data(), kIdentityBytes);
  return true;
}

UnitBlock::Outcome UnitBlock::Find(RandomAccessFile* file, uint64_t file_size, UnitBlock* found) {
  constexpr size_t kFooter = leveldb::Footer::kEncodedLength;
  std::string bytes;
  if (file_size < kFooter || !ReadAt(*file, file_size - kFooter, kFooter, &bytes)) {
    return kUnreadable;
  }
  leveldb::Footer footer;
  Slice input(bytes);
  // ReadBlock allocates what the handle says.
  if (!footer.DecodeFrom(&input).ok() || !IsWithin(footer.metaindex_handle(), file_size)) {
    return kDamaged;
  }
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  leveldb::BlockContents contents;
  const Status s = ReadBlock(file, options, footer.metaindex_handle(), &contents);
  if (!s.ok()) {
    return Failed(s);
  }
  leveldb::Block metaindex(contents);
  const std::unique_ptr<leveldb::Iterator> entry(metaindex.NewIterator(leveldb::BytewiseComparator()));
  entry->Seek(kUnitBlockName);
  const bool has_units = entry->Valid() && entry->key() == Slice(kUnitBlockName);
  return has_units && found->Decode(entry->value(), file_size) ? kFound : kNone;
}

UnitBlock::Outcome UnitBlock::ReadHead(const RandomAccessFile& file, std::string* head) const {
  if (!ReadAt(file, handle.offset(), std::min(handle.size(), kFirstReadBytes), head)) {
    return kUnreadable;
  }
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  if (!sb_block_extent(Bytes(*head), &head_bytes, &block_bytes) || block_bytes != handle.size() || head_bytes > block_bytes) {
    return kDamaged;
  }
  if (head_bytes > head->size() && !ReadAt(file, handle.offset(), head_bytes, head)) {
    return kUnreadable;
  }
  head->resize(head_bytes);
  return kFound;
}

}  // namespace springbloom
