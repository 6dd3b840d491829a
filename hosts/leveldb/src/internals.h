// What LevelDB's library has and its public headers do not declare: the parts that the replaced classes use, with the layout that 1.22 and
// 1.23 give them. Debian's package has no header for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/options.h"
#include "leveldb/slice.h"
#include "leveldb/status.h"

namespace leveldb {

static_assert(kMajorVersion == 1 && (kMinorVersion == 22 || kMinorVersion == 23), "this LevelDB may have other classes");

class FilterPolicy;
class RandomAccessFile;

std::string TableFileName(const std::string& dbname, uint64_t number);
std::string SSTTableFileName(const std::string& dbname, uint64_t number);

void PutFixed32(std::string* dst, uint32_t value);
void PutFixed64(std::string* dst, uint64_t value);
void PutVarint64(std::string* dst, uint64_t value);
void PutLengthPrefixedSlice(std::string* dst, const Slice& value);

namespace crc32c {
uint32_t Extend(uint32_t crc, const char* data, size_t n);
// As checksums are stored.
inline uint32_t Mask(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8U; }
}  // namespace crc32c

// Type of compression and checksum, after each block.
constexpr size_t kBlockTrailerSize = 5;
// Sequence number and type, after each user key.
constexpr size_t kKeyTrailerSize = 8;

class BlockHandle {
 public:
  uint64_t offset() const { return offset_; }
  uint64_t size() const { return size_; }
  void Set(uint64_t offset, uint64_t size) {
    offset_ = offset;
    size_ = size;
  }
  void EncodeTo(std::string* dst) const;
  Status DecodeFrom(Slice* input);

 private:
  uint64_t offset_ = ~uint64_t{0};
  uint64_t size_ = ~uint64_t{0};
};

class Footer {
 public:
  static constexpr size_t kEncodedLength = 48;
  const BlockHandle& metaindex_handle() const { return metaindex_handle_; }
  const BlockHandle& index_handle() const { return index_handle_; }
  void Set(const BlockHandle& metaindex, const BlockHandle& index) {
    metaindex_handle_ = metaindex;
    index_handle_ = index;
  }
  void EncodeTo(std::string* dst) const;
  Status DecodeFrom(Slice* input);

 private:
  BlockHandle metaindex_handle_;
  BlockHandle index_handle_;
};

struct BlockContents {
  Slice data;
  bool cachable;
  bool heap_allocated;
};
Status ReadBlock(RandomAccessFile* file, const ReadOptions& options, const BlockHandle& handle, BlockContents* result);

class Block {
 public:
  explicit Block(const BlockContents& contents);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  Iterator* NewIterator(const Comparator* comparator);

 private:
  [[maybe_unused]] const char* data_;
  [[maybe_unused]] size_t size_;
  [[maybe_unused]] uint32_t restart_offset_;
  [[maybe_unused]] bool owned_;
};

class BlockBuilder {
 public:
  explicit BlockBuilder(const Options* options);
  void Reset();
  void Add(const Slice& key, const Slice& value);
  Slice Finish();
  size_t CurrentSizeEstimate() const;
  bool empty() const { return buffer_.empty(); }

 private:
  [[maybe_unused]] const Options* options_;
  std::string buffer_;
  std::vector<uint32_t> restarts_;
  [[maybe_unused]] int counter_;
  [[maybe_unused]] bool finished_;
  std::string last_key_;
};

class FilterBlockBuilder {
 public:
  explicit FilterBlockBuilder(const FilterPolicy* policy);
  void StartBlock(uint64_t block_offset);
  void AddKey(const Slice& key);
  Slice Finish();

 private:
  [[maybe_unused]] const FilterPolicy* policy_;
  std::string keys_;
  std::vector<size_t> start_;
  std::string result_;
  std::vector<Slice> tmp_keys_;
  std::vector<uint32_t> filter_offsets_;
};

// The order that a database gives to its tables, over that of its user keys.
class InternalKeyComparator : public Comparator {
 public:
  const Comparator* user_comparator() const { return user_comparator_; }

 private:
  const Comparator* user_comparator_;
};

}  // namespace leveldb
