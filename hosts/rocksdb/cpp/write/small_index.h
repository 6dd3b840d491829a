// Index and blocks of new tables where the block cache pays for filters: every byte of index takes one from data.
#pragma once

#include "rocksdb/table.h"

namespace springbloom {

// The usual distance between whole keys in a block: an index of numbered keys shrinks to a third.
inline constexpr int kSmallIndexRestartInterval = 16;

// Changes what the program left at RocksDB's default. `block_bytes`: of a block of data; 0: RocksDB's default.
inline void ShrinkIndex(uint32_t block_bytes, rocksdb::BlockBasedTableOptions* options) {
  using rocksdb::BlockBasedTableOptions;
  const BlockBasedTableOptions defaults;
  if (options->no_block_cache || options->block_cache == nullptr) {
    return;
  }
  // A hash index can have no other.
  if (options->index_block_restart_interval == defaults.index_block_restart_interval &&
      options->index_type != BlockBasedTableOptions::kHashSearch) {
    options->index_block_restart_interval = kSmallIndexRestartInterval;
  }
  if (block_bytes != 0 && options->block_size == defaults.block_size) {
    options->block_size = block_bytes;
  }
}

}  // namespace springbloom
