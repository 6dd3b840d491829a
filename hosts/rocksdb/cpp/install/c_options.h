// What the C interface's options hold.
#pragma once

#include "rocksdb/options.h"
#include "rocksdb/table.h"

// As the C interface of the pinned release has it.
struct rocksdb_options_t {
  rocksdb::Options rep;
};

namespace springbloom {

// `rocksdb_options` is a rocksdb_options_t*.
inline rocksdb::Options& OptionsIn(void* rocksdb_options) { return static_cast<rocksdb_options_t*>(rocksdb_options)->rep; }

// The block-based options in force, or null when the column family uses another table format.
inline const rocksdb::BlockBasedTableOptions* TableOptions(const rocksdb::Options& options) {
  return options.table_factory == nullptr ? nullptr : options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
}

}  // namespace springbloom
