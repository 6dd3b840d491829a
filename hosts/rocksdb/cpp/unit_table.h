// Finds the filter block of a table file and opens its units.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "file/random_access_file_reader.h"
#include "column_family.h"
#include "options/cf_options.h"
#include "rocksdb/table_properties.h"
#include "table/format.h"
#include "table/table_builder.h"

namespace springbloom {

class UnitTable {
 public:
  // Finds the filter block and reads its header and directory. Empty for a table that has none, and for any error: the stock
  // reader will meet it again and report it.
  // `tail_size`: of what follows the data blocks; 0 if it is not known, which costs two more reads.
  static std::optional<UnitTable> Find(const rocksdb::ReadOptions& read_options,
                                       const rocksdb::ImmutableOptions& ioptions, uint64_t tail_size,
                                       rocksdb::RandomAccessFileReader* file, uint64_t file_size);

  // Bytes of the file behind the filter block: the tail that a reader without filters needs.
  uint64_t BytesBehind(uint64_t file_size) const;

  // SB_OPENED, and the table; or why (of abi.h) it is read without units, which the log is told.
  int Open(const ColumnFamily& family, int level, const rocksdb::TableProperties& properties, sb_table* table) const;

 private:
  // Both give the block's place, and its first bytes in `start`.
  static std::optional<rocksdb::BlockHandle> FindAtTail(const rocksdb::ReadOptions& read_options, uint64_t tail_size,
                                                        rocksdb::RandomAccessFileReader* file, uint64_t file_size,
                                                        std::string* start);
  static std::optional<rocksdb::BlockHandle> FindInMetaindex(const rocksdb::ReadOptions& read_options,
                                                             const rocksdb::ImmutableOptions& ioptions,
                                                             rocksdb::RandomAccessFileReader* file, uint64_t file_size,
                                                             std::string* start);

  UnitTable(std::string path, const rocksdb::BlockHandle& block, std::string head)
      : path_(std::move(path)), block_(block), head_(std::move(head)) {}

  std::string path_;
  rocksdb::BlockHandle block_;
  std::string head_;
};

}  // namespace springbloom
