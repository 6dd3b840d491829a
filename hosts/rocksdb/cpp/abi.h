// What this host's C++ offers to its Rust and to C++ users, in addition to the border to the core (springbloom_abi.h): an exception that
// leaves a function ends the process. A pointer is borrowed for the call unless the comment says that it is owned.
#pragma once

#include <stdbool.h>

#include "springbloom_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// RocksDB, for the core. Its caches are std::shared_ptr<rocksdb::Cache>.
extern const sb_engine springbloom_engine;

// Makes the id "springbloom" known to option strings: table_factory={id=springbloom;budget=64M}.
void springbloom_register(void) SB_NOEXCEPT;
// Replaces the block-based table factory of a `rocksdb_options_t` by one that writes and reads filter units, keeping its
// options. Retains `filters`. 0 on success, else a message in `error`.
int springbloom_install(void* rocksdb_options, const sb_filters* filters, char* error, size_t error_size) SB_NOEXCEPT;
// The instance that was installed into a `rocksdb_options_t`, borrowed from it; null if there is none.
const sb_filters* springbloom_installed(void* rocksdb_options) SB_NOEXCEPT;
// Of a column family: whether it writes and reads filter units, and its tables.
typedef struct {
  bool is_active;
  uint64_t tables_with_units;
  uint64_t tables_without_units;
  uint64_t index_block_restart_interval;  // of new tables; 0 if they are stock RocksDB's
} springbloom_family_status;
// Of a `rocksdb_t` and a `rocksdb_column_family_handle_t` of it (null: the default one). `filters`: whose units; null: anybody's. Reads the
// tables' properties. 0 on success, else a message in `error`.
int springbloom_status(void* rocksdb_db, void* rocksdb_family, const sb_filters* filters, springbloom_family_status* status,
                       char* error, size_t error_size) SB_NOEXCEPT;

// What a table file says of itself.
typedef struct {
  uint64_t file_bytes;
  uint64_t entries;
  uint64_t data_bytes;
  uint64_t filter_bytes;
  uint64_t index_bytes;
  sb_bytes filter_policy;
  sb_bytes session;
  uint64_t orig_file_number;
  uint64_t block_offset;  // of the block of filter units; 0 without one
  uint64_t block_bytes;
  uint64_t raw_bytes;  // of keys and values
  uint64_t data_blocks;
  sb_bytes head;  // the first bytes of that block: its header and directory, if it is sound
} springbloom_table_info;
// Reads one table file on its own, and passes what it says to `take`. 0 on success.
int springbloom_inspect_table(sb_bytes path, void* context, void (*take)(void* context, const springbloom_table_info* table),
                              char* error, size_t error_size) SB_NOEXCEPT;

// What a table holds of a key.
typedef enum {
  SPRINGBLOOM_NOTHING = 0,
  SPRINGBLOOM_VALUE = 1,
  SPRINGBLOOM_DELETION = 2,
  SPRINGBLOOM_OPERAND = 3,  // of a merge
  SPRINGBLOOM_RANGE_DELETION = 4,
} springbloom_entry;
typedef struct {
  int32_t newest;       // springbloom_entry
  int32_t ends_lookup;  // whether older tables are not asked
  uint64_t index_blocks;
  uint64_t data_blocks;
} springbloom_lookup;
// Looks a user key up in one table file whose keys are in the order of bytes, or the reverse of it: what it holds, and how many blocks a
// lookup asks for that no filter stops. 0 on success.
int springbloom_look_up(sb_bytes path, sb_bytes key, bool reversed, springbloom_lookup* found, char* error,
                        size_t error_size) SB_NOEXCEPT;

// Options of an index, and what it takes with them.
typedef struct {
  uint32_t restart_interval;
  uint64_t block_bytes;
} springbloom_index_options;
typedef struct {
  uint64_t entries;
  uint64_t data_blocks;
  uint64_t data_bytes;
  uint64_t index_bytes;
} springbloom_index_size;
// Rewrites the first `data_bytes` of a table file in memory with each of `count` options, uncompressed. 0 on success; keys that are not in
// the order of bytes cannot be rewritten.
int springbloom_measure_indexes(sb_bytes path, uint64_t data_bytes, const springbloom_index_options* indexes,
                                springbloom_index_size* sizes, size_t count, char* error, size_t error_size) SB_NOEXCEPT;

// A table that a MANIFEST lists.
typedef struct {
  sb_bytes family;      // name of its column family
  sb_bytes comparator;  // name of the order of its keys
  sb_bytes smallest;    // user keys, which range deletions may have made to lie outside of the table's entries
  sb_bytes largest;
  uint64_t number;  // of its file
  uint64_t epoch;   // of tables of level 0 one of a later epoch is newer; in one epoch that with the newer sequence
  uint64_t newest_sequence;
  int32_t level;
} springbloom_listed_table;
// Gives `take` every table of the database whose MANIFEST is at `path`. Reads nothing else, and takes any comparator. 0 on success.
int springbloom_list_tables(sb_bytes path, void* context, void (*take)(void* context, const springbloom_listed_table* table),
                            char* error, size_t error_size) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif
