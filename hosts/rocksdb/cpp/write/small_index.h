// The index of new tables where the block cache pays for filters: every byte of index takes one from data.
#pragma once

#include "rocksdb/advanced_cache.h"
#include "rocksdb/table.h"

namespace springbloom {

// The usual distance between whole keys in a block: an index of numbered keys shrinks to a third.
inline constexpr int kSmallIndexRestartInterval = 16;

// Changes what the program left at RocksDB's default. A hash index can have no other. In the block cache a whole index would come and go as
// one block, of 100 KB in a table of 64 MB: it becomes partitions, which cost as little as a whole one where they stay.
inline void ShrinkIndex(rocksdb::BlockBasedTableOptions* options) {
  using rocksdb::BlockBasedTableOptions;
  const bool has_cache = !options->no_block_cache && options->block_cache != nullptr;
  const bool is_default = options->index_block_restart_interval == BlockBasedTableOptions().index_block_restart_interval;
  if (has_cache && is_default && options->index_type != BlockBasedTableOptions::kHashSearch) {
    options->index_block_restart_interval = kSmallIndexRestartInterval;
  }
  // A lookup brings one block more then, for which a cache with a strict limit may have no room.
  const bool takes_parts = has_cache && options->cache_index_and_filter_blocks && !options->block_cache->HasStrictCapacityLimit();
  if (takes_parts && options->index_type == BlockBasedTableOptions::kBinarySearch) {
    options->index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
  }
}

}  // namespace springbloom
