// Reads one table file on its own, without its database.
#include <algorithm>

#include "abi.h"
#include "owners.h"
#include "options/cf_options.h"
#include "rocksdb/env.h"
#include "rocksdb/options.h"
#include "rocksdb_release.h"
#include "table/block_based/block_based_table_builder.h"
#include "table/format.h"
#include "table/meta_blocks.h"
#include "write/elastic_table_builder.h"

namespace {

// Most directories end within it.
constexpr uint64_t kFirstReadBytes = 4096;

using TakeTable = void (*)(void* context, const springbloom_table_info* table);

rocksdb::Status Inspect(const std::string& path, void* context, TakeTable take) {
  const rocksdb::Options options;
  const rocksdb::ImmutableOptions ioptions(options);
  const rocksdb::ReadOptions read_options;
  uint64_t file_size = 0;
  std::unique_ptr<rocksdb::RandomAccessFileReader> file;
  rocksdb::Status s = ioptions.fs->GetFileSize(path, rocksdb::IOOptions(), &file_size, nullptr);
  if (s.ok()) {
    s = springbloom::release::OpenTableFile(ioptions.fs, path, rocksdb::FileOptions(), &file);
  }
  std::unique_ptr<rocksdb::TableProperties> properties;
  if (s.ok()) {
    s = rocksdb::ReadTableProperties(file.get(), file_size, rocksdb::kBlockBasedTableMagicNumber, ioptions, read_options,
                                     &properties);
  }
  if (!s.ok()) {
    return s;
  }
  springbloom_table_info info{};
  info.file_bytes = file_size;
  info.entries = properties->num_entries;
  info.data_bytes = properties->data_size;
  info.filter_bytes = properties->filter_size;
  info.index_bytes = properties->index_size;
  info.raw_bytes = properties->raw_key_size + properties->raw_value_size;
  info.data_blocks = properties->num_data_blocks;
  info.filter_policy = springbloom::Bytes(properties->filter_policy_name);
  info.session = springbloom::Bytes(properties->db_session_id);
  info.orig_file_number = properties->orig_file_number;
  rocksdb::BlockHandle block;
  s = rocksdb::FindMetaBlockInFile(file.get(), file_size, rocksdb::kBlockBasedTableMagicNumber, ioptions, read_options,
                                   springbloom::kUnitBlockMetaName, &block);
  if (!s.ok() || block.size() == 0) {
    // A table of stock RocksDB has no such block, and that of a table without units is empty.
    take(context, &info);
    return rocksdb::Status::OK();
  }
  if (block.offset() > file_size || block.size() > file_size - block.offset()) {
    return rocksdb::Status::Corruption("the filter block is said to end behind the end of the file", path);
  }
  info.block_offset = block.offset();
  info.block_bytes = block.size();
  std::string data(std::min<uint64_t>(block.size(), kFirstReadBytes), '\0');
  rocksdb::Slice result;
  s = springbloom::release::ReadAt(*file, rocksdb::IOOptions(), block.offset(), data.size(), &result, data.data());
  uint64_t head_bytes = 0;
  uint64_t block_bytes = 0;
  if (s.ok() && sb_block_extent(springbloom::Bytes(result), &head_bytes, &block_bytes) && head_bytes > result.size() &&
      head_bytes <= block.size()) {
    data.resize(head_bytes);
    s = springbloom::release::ReadAt(*file, rocksdb::IOOptions(), block.offset(), data.size(), &result, data.data());
  }
  if (s.ok()) {
    info.head = springbloom::Bytes(result);
    take(context, &info);
  }
  return s;
}

}  // namespace

extern "C" int springbloom_inspect_table(sb_bytes path, void* context, TakeTable take, char* error, size_t error_size) noexcept {
  return springbloom::Told(Inspect(springbloom::ToSlice(path).ToString(), context, take), error, error_size);
}
