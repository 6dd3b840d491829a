// The index of new tables where the block cache pays for filters: every byte of index takes one from data.
#pragma once

#include "rocksdb/table.h"

namespace springbloom {

// The usual distance between whole keys in a block: an index of numbered keys shrinks to a third.
inline constexpr int kSmallIndexRestartInterval = 16;

// Changes what the program left at RocksDB's default. A hash index can have no other.
inline void ShrinkIndex(rocksdb::BlockBasedTableOptions* options) {
  using rocksdb::BlockBasedTableOptions;
  const bool has_cache = !options->no_block_cache && options->block_cache != nullptr;
  const bool is_default = options->index_block_restart_interval == BlockBasedTableOptions().index_block_restart_interval;
  if (has_cache && is_default && options->index_type != BlockBasedTableOptions::kHashSearch) {
    options->index_block_restart_interval = kSmallIndexRestartInterval;
  }
}

}  // namespace springbloom
