// Copies of a tree that differ in their filters alone: data and index blocks are the same bytes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "error.h"
#include "filters.h"
#include "internals.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/iterator.h"
#include "leveldb/table.h"
#include "store.h"
#include "unit_block.h"

using leveldb::BlockHandle;
using leveldb::Slice;
using leveldb::Status;

namespace {

constexpr char kBloomBlockName[] = "filter.leveldb.BuiltinBloomFilter2";

// A table under its name in the new tree.
struct Copied {
  uint64_t size = 0;
  std::string smallest;
  std::string largest;
  uint64_t largest_sequence = 0;
  uint64_t filter_bytes = 0;
};

// Of an internal key, in whose trailer it stands over the type.
uint64_t SequenceOf(const Slice& internal_key) {
  const char* const trailer = internal_key.data() + internal_key.size() - leveldb::kKeyTrailerSize;
  uint64_t sequence = 0;
  for (size_t at = 1; at < leveldb::kKeyTrailerSize; ++at) {
    sequence |= uint64_t{static_cast<unsigned char>(trailer[at])} << (8 * (at - 1));
  }
  return sequence;
}

uint32_t MaskedCrc(const std::string& bytes) {
  return leveldb::crc32c::Mask(leveldb::crc32c::Extend(0, bytes.data(), bytes.size()));
}

// With its trailer.
BlockHandle AppendBlock(std::string* file, const std::string& contents) {
  BlockHandle handle;
  handle.Set(file->size(), contents.size());
  const std::string uncompressed = contents + '\0';
  *file += uncompressed;
  leveldb::PutFixed32(file, MaskedCrc(uncompressed));
  return handle;
}

// LevelDB's Bloom filter of all keys in one. It makes one for each 2 KiB of a table, of at least 64 bits and four bytes of bookkeeping: 18
// bits per key where records have a kilobyte. Its reader takes the number of bytes that a filter covers from the block.
std::string BloomBlock(const std::vector<std::string>& keys, uint32_t bits) {
  const std::unique_ptr<const leveldb::FilterPolicy> policy(leveldb::NewBloomFilterPolicy(static_cast<int>(bits)));
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::string block;
  policy->CreateFilter(slices.data(), static_cast<int>(slices.size()), &block);
  const size_t filter_bytes = block.size();
  leveldb::PutFixed32(&block, 0);
  leveldb::PutFixed32(&block, static_cast<uint32_t>(filter_bytes));
  constexpr char kLogOfCovered = 40;
  block.push_back(kLogOfCovered);
  return block;
}

// The user keys of a table, and its ends.
Status ReadKeys(const std::string& path, uint64_t size, std::vector<std::string>* keys, Copied* copied) {
  leveldb::RandomAccessFile* opened = nullptr;
  Status s = leveldb::Env::Default()->NewRandomAccessFile(path, &opened);
  const std::unique_ptr<leveldb::RandomAccessFile> file(opened);
  leveldb::Table* table = nullptr;
  if (s.ok()) {
    s = leveldb::Table::Open(leveldb::Options(), file.get(), size, &table);
  }
  if (!s.ok()) {
    return s;
  }
  const std::unique_ptr<leveldb::Table> owned(table);
  const std::unique_ptr<leveldb::Iterator> entry(table->NewIterator(leveldb::ReadOptions()));
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    copied->largest = entry->key().ToString();
    if (keys->empty()) {
      copied->smallest = copied->largest;
    }
    copied->largest_sequence = std::max(copied->largest_sequence, SequenceOf(entry->key()));
    keys->emplace_back(copied->largest, 0, copied->largest.size() - leveldb::kKeyTrailerSize);
  }
  return entry->status();
}

Status CopyTable(const std::string& from, const std::string& to, const lb_table& table, const sb_filters* filters,
                 Copied* copied) {
  const std::string source = leveldb::TableFileName(from, table.number);
  std::stringstream read;
  read << std::ifstream(source, std::ios::binary).rdbuf();
  const std::string bytes = read.str();
  std::vector<std::string> keys;
  Status s = ReadKeys(source, bytes.size(), &keys, copied);
  leveldb::Footer footer;
  if (s.ok()) {
    Slice end(bytes.data() + bytes.size() - leveldb::Footer::kEncodedLength, leveldb::Footer::kEncodedLength);
    s = footer.DecodeFrom(&end);
  }
  if (!s.ok()) {
    return s;
  }
  std::string file = bytes.substr(0, footer.metaindex_handle().offset());
  std::string name;
  std::string entry;
  if (filters != nullptr) {
    springbloom::UnitBlock block{.handle = {}, .identity = springbloom::NewIdentity()};
    const springbloom::BuilderPtr builder(
        sb_builder_new(filters, /*bytewise=*/1, springbloom::Bytes(block.identity), /*file_number=*/0));
    for (const std::string& key : keys) {
      sb_builder_add(builder.get(), springbloom::Bytes(key), footer.metaindex_handle().offset() / keys.size());
    }
    const std::string units = springbloom::Text(sb_builder_finish(builder.get()));
    copied->filter_bytes = units.size();
    block.handle = AppendBlock(&file, units);
    name = springbloom::kUnitBlockName;
    entry = block.Encode();
  } else if (table.bloom_bits != 0) {
    const std::string block = BloomBlock(keys, table.bloom_bits);
    copied->filter_bytes = block.size();
    AppendBlock(&file, block).EncodeTo(&entry);
    name = kBloomBlockName;
  }
  const leveldb::Options options;
  leveldb::BlockBuilder metaindex(&options);
  if (!name.empty()) {
    metaindex.Add(name, entry);
  }
  const BlockHandle metaindex_handle = AppendBlock(&file, metaindex.Finish().ToString());
  const BlockHandle index_handle = AppendBlock(&file, bytes.substr(footer.index_handle().offset(), footer.index_handle().size()));
  footer.Set(metaindex_handle, index_handle);
  std::string end;
  footer.EncodeTo(&end);
  file += end;
  copied->size = file.size();
  return leveldb::WriteStringToFile(leveldb::Env::Default(), file, leveldb::TableFileName(to, table.number));
}

// The database's log of changes to its tree, with one: all tables are new (LevelDB's doc/log_format.md).
std::string Manifest(const lb_table* tables, const std::vector<Copied>& copies, uint64_t next_number) {
  enum { kComparator = 1, kLogNumber = 2, kNextFile = 3, kLastSequence = 4, kNewFile = 7 };
  std::string edit(1, kComparator);
  leveldb::PutLengthPrefixedSlice(&edit, leveldb::BytewiseComparator()->Name());
  uint64_t last_sequence = 0;
  for (size_t at = 0; at < copies.size(); ++at) {
    edit.push_back(kNewFile);
    leveldb::PutVarint64(&edit, tables[at].level);
    leveldb::PutVarint64(&edit, tables[at].number);
    leveldb::PutVarint64(&edit, copies[at].size);
    leveldb::PutLengthPrefixedSlice(&edit, copies[at].smallest);
    leveldb::PutLengthPrefixedSlice(&edit, copies[at].largest);
    last_sequence = std::max(last_sequence, copies[at].largest_sequence);
  }
  for (const auto& [tag, value] :
       {std::pair<char, uint64_t>{kLogNumber, 0}, {kNextFile, next_number}, {kLastSequence, last_sequence}}) {
    edit.push_back(tag);
    leveldb::PutVarint64(&edit, value);
  }
  constexpr size_t kBlock = 32768;
  constexpr size_t kHeader = 7;
  enum { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
  std::string log;
  for (size_t at = 0; at < edit.size();) {
    const size_t size = std::min(kBlock - kHeader, edit.size() - at);
    const bool is_first = at == 0;
    const bool is_last = at + size == edit.size();
    const std::string part =
        std::string(1, is_first ? (is_last ? kFull : kFirst) : (is_last ? kLast : kMiddle)) + edit.substr(at, size);
    leveldb::PutFixed32(&log, MaskedCrc(part));
    log.push_back(static_cast<char>(size));
    log.push_back(static_cast<char>(size >> 8));
    log += part;
    at += size;
  }
  return log;
}

}  // namespace

extern "C" int64_t lb_copy(const char* from, const char* to, const lb_table* tables, size_t count,
                           const sb_filters* filters) noexcept {
  std::filesystem::create_directories(to);
  std::vector<Copied> copies(count);
  uint64_t filter_bytes = 0;
  uint64_t manifest = 0;
  for (size_t at = 0; at < count; ++at) {
    if (Failed(CopyTable(from, to, tables[at], filters, &copies[at]))) {
      return -1;
    }
    filter_bytes += copies[at].filter_bytes;
    manifest = std::max(manifest, tables[at].number + 1);
  }
  char name[32];
  std::snprintf(name, sizeof(name), "MANIFEST-%06llu", static_cast<unsigned long long>(manifest));
  leveldb::Env* const env = leveldb::Env::Default();
  const std::string folder = std::string(to) + "/";
  if (Failed(leveldb::WriteStringToFile(env, Manifest(tables, copies, manifest + 1), folder + name)) ||
      Failed(leveldb::WriteStringToFile(env, std::string(name) + "\n", folder + "CURRENT"))) {
    return -1;
  }
  return static_cast<int64_t>(filter_bytes);
}
