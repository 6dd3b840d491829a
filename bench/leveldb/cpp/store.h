// What the benchmark calls of LevelDB. A function that can fail gives null or a negative number, and `lb_error` says why.
#pragma once

#include "springbloom_abi.h"

extern "C" {

struct lb_store;

// What the core must know of LevelDB.
const sb_engine* lb_engine() noexcept;
// Why the last call of this thread failed, until the next one.
const char* lb_error() noexcept;

// Opens or makes a database. `holds`: its tree stays as it is. `filters`: null, or borrowed until it is closed; `bloom_bits`: of the
// Bloom filters of new tables, 0 for none.
lb_store* lb_open(const char* path, uint64_t write_buffer, uint64_t file_bytes, int holds, const sb_filters* filters,
                  uint32_t bloom_bits) noexcept;
int lb_put(lb_store* store, sb_bytes key, sb_bytes value) noexcept;
// 1: found; `value` is borrowed until the next call. 0: there is none. `reads`: reads of tables that it took.
int lb_get(lb_store* store, sb_bytes key, sb_bytes* value, uint64_t* reads) noexcept;
// The property leveldb.sstables, borrowed until the next call.
sb_bytes lb_tables(lb_store* store) noexcept;
// Waits for flushes and compactions.
void lb_settle(lb_store* store) noexcept;
void lb_close(lb_store* store) noexcept;

// A table in a tree.
struct lb_table {
  uint32_t level;
  uint32_t bloom_bits;  // per key; 0: no Bloom filter
  uint64_t number;
};
// Makes the database `to` of the same tables as those of `from`, which have no filters: with units as `filters` want them, or if that is
// null with one Bloom filter for each table that has bits, by LevelDB's own code. Gives the bytes of the filters.
int64_t lb_copy(const char* from, const char* to, const lb_table* tables, size_t count, const sb_filters* filters) noexcept;
}
