// The index of new tables where the block cache pays for filters: every byte of index takes one from data.
#pragma once

#include "rocksdb/table.h"

namespace springbloom {

// The usual distance between whole keys in a block: an index of numbered keys shrinks to a third.
inline constexpr int kSmallIndexRestartInterval = 16;

// Releases before 10.4 know no index of the program's own.
template <typename TableOptions>
bool HasUserDefinedIndex([[maybe_unused]] const TableOptions& options) {
  if constexpr (requires { options.user_defined_index_factory; }) {
    return options.user_defined_index_factory != nullptr;
  } else {
    return false;
  }
}

// Changes what the program left at RocksDB's defaults. Stock RocksDB reads such tables: they say what index they have.
inline void ShrinkIndex(rocksdb::BlockBasedTableOptions* options) {
  using rocksdb::BlockBasedTableOptions;
  if (options->no_block_cache || options->block_cache == nullptr) {
    return;
  }
  const BlockBasedTableOptions defaults;
  const bool is_hash_index = options->index_type == BlockBasedTableOptions::kHashSearch;
  if (!is_hash_index && options->index_block_restart_interval == defaults.index_block_restart_interval) {
    options->index_block_restart_interval = kSmallIndexRestartInterval;
  }
  // In the block cache a whole index is one block, which only the lookups of its whole table keep there.
  if (options->cache_index_and_filter_blocks && options->index_type == defaults.index_type && !HasUserDefinedIndex(*options)) {
    options->index_type = BlockBasedTableOptions::kTwoLevelIndexSearch;
  }
}

}  // namespace springbloom
