// Finds the filter block of a table file and reads its head.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "abi.h"
#include "options/cf_options.h"
#include "read/file_reader.h"
#include "rocksdb_release.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/format.h"

namespace springbloom {

// What the stock reader of a table has read. The factory's stock readers are all of this class.
inline const rocksdb::BlockBasedTable::Rep& RepOf(const rocksdb::TableReader& stock) {
  return *static_cast<const rocksdb::BlockBasedTable&>(stock).get_rep();
}

class UnitTable {
 public:
  // Whether one read brings the whole tail. Then the stock reader is opened first, and reports faults as in stock RocksDB. The beginning of
  // a longer tail is read first, so that the stock reader can be told not to read the units.
  static bool IsShortTail(uint64_t tail_size) { return tail_size != 0 && tail_size <= kFirstReadBytes; }

  // Finds the filter block and reads its header and directory. Empty for a table that has none, and for any error: the stock
  // reader will meet it again and report it.
  // `tail_size`: of what follows the data blocks; 0 if it is not known, which costs two more reads.
  static std::optional<UnitTable> Find(const rocksdb::ReadOptions& read_options, const rocksdb::ImmutableOptions& ioptions,
                                       uint64_t tail_size, rocksdb::RandomAccessFileReader* file, uint64_t file_size);

  // Bytes of the file behind the filter block: the tail that a reader without filters needs.
  uint64_t BytesBehind(uint64_t file_size) const;

  // Whether a table with these properties has units.
  static bool IsIn(const rocksdb::TableProperties& properties);

  // Whether a table with these properties may have units over prefixes.
  static bool MayHavePrefixes(const rocksdb::TableProperties& properties) {
    return !properties.prefix_extractor_name.empty() && properties.prefix_extractor_name != "nullptr";
  }

  // Header and directory of units, or why there is none: SB_OPENED, or a reason in the words of springbloom_abi.h.
  struct Head {
    int why;
    std::string bytes = {};
    uint64_t block_offset = 0;
  };
  // Of the units with these contents. What is damaged is read once more, as RocksDB's block fetcher does it where the file system can
  // verify and reconstruct what it reads.
  Head ReadHeadOf(int contents, const ReadObjects& objects, rocksdb::RandomAccessFileReader* file);

 private:
  // Most directories end within it, so that header and directory come in one read.
  static constexpr uint64_t kFirstReadBytes = 4096;

  UnitTable(const rocksdb::IOOptions& io_options, const rocksdb::BlockHandle& block) : io_options_(io_options), block_(block) {}

  static std::optional<UnitTable> FindAtTail(const rocksdb::IOOptions& io_options, uint64_t tail_size,
                                             rocksdb::RandomAccessFileReader* file, uint64_t file_size);
  // `start`: what was read of the block already. Whether a head was read that may be sound. Sets `is_unreadable_` where a read failed.
  bool ReadHead(const rocksdb::IOOptions& io_options, rocksdb::RandomAccessFileReader* file, std::string start);
  // Whether the block has units with these contents, and where.
  int CheckHead(int contents, const ReadObjects& objects, rocksdb::RandomAccessFileReader* file, uint64_t* units_at);

  rocksdb::IOOptions io_options_;
  rocksdb::BlockHandle block_;
  // Header and directory; empty if they could not be read or are damaged.
  std::string head_;
  bool is_unreadable_ = false;
};

}  // namespace springbloom
