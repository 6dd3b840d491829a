// Which tables keep their index in the block cache.
//
// A partition of an index that comes and goes competes with hit data, and is lost to lookups that come seldom. But an index that takes a
// good part of the cache leaves data no room. So a table's index stays while it is open, if the indexes of all tables of its database take
// no more than a part of the cache, and those that stay do neither.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "options/cf_options.h"
#include "rocksdb/table.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/table_builder.h"

namespace springbloom {

// Bytes of the tables that a database had when it was opened. What it writes later counts as it is pinned.
class TableBytes {
 public:
  // Lists the folder of the table at `path`, once. 0 where it cannot be listed.
  uint64_t Of(const rocksdb::ImmutableOptions& ioptions, const std::string& path);

 private:
  std::once_flag once_;
  uint64_t bytes_ = 0;
};

// Whether the index of a table of `file_bytes`, about `index_bytes`, should stay, in a database with so many bytes of tables.
bool IndexMayStay(const rocksdb::BlockBasedTableOptions& options, uint64_t index_bytes, uint64_t file_bytes,
                  uint64_t table_bytes);

// Has readers with these options keep the index, where the program leaves that to RocksDB.
void KeepIndex(rocksdb::BlockBasedTableOptions* options);

// Count the index of a reader, from when it is opened until it is closed.
void CountIndex(const rocksdb::BlockBasedTable::Rep& reader);
void ForgetIndex(const rocksdb::BlockBasedTable::Rep& reader);

// Bytes of the indexes of open tables that stay in a cache, or come and go.
uint64_t IndexBytesIn(const rocksdb::Cache* cache);

}  // namespace springbloom
