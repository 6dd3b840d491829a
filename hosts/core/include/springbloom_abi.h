// The interface between a host's adapter to its engine, in C or C++, and the Rust core that all hosts share.
//
// The core catches panics of its functions (src/ffi/). Callbacks must not throw: C++ accepts only `noexcept` ones. A pointer is borrowed
// for the call unless its comment says that it is owned.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SB_NOEXCEPT noexcept
extern "C" {
#else
#define SB_NOEXCEPT
#endif

typedef struct sb_filters sb_filters;              // one shared set of settings + manager; reference counted
typedef struct sb_cache_use sb_cache_use;          // a share of the charge to a cache, held by options and databases
typedef struct sb_builder sb_builder;              // filter units of a table that is being written
typedef struct sb_column_family sb_column_family;  // a column family of a database, while one of its tables is open
typedef struct sb_table sb_table;                  // an open table's filter units, over keys or over prefixes

// Whether the table has its units. Until then it may wait for its directory, and lookups pass unfiltered. A pointer whose lowest bit is set
// is that of a table which waits, or has waited: there is a word that becomes 1.
static inline int sb_table_is_open(const sb_table* table) {
  const uintptr_t place = (uintptr_t)table;
  return (place & 1) == 0 || __atomic_load_n((const uint32_t*)(place - 1), __ATOMIC_ACQUIRE) != 0;
}

typedef struct {
  const uint8_t* data;
  size_t size;
} sb_bytes;

typedef struct {
  uint64_t lo;
  uint64_t hi;
} sb_digest;

// How table files are opened. `access` is owned by the receiver of the struct; any thread may call the functions.
typedef struct {
  void* access;
  // Reads `size` bytes at `offset` of a file into `into`; 0 on success. `verify`: an earlier read was corrupt, so the file system must
  // verify and reconstruct this one; fails if it cannot.
  int (*read)(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) SB_NOEXCEPT;
  int (*exists)(const void* access, sb_bytes path) SB_NOEXCEPT;                // 1 while the file exists
  void (*log)(const void* access, int is_warning, sb_bytes text) SB_NOEXCEPT;  // adds a line to the database's log
  void (*free)(void* access) SB_NOEXCEPT;
  uint64_t file_system;  // identifies the file system, for files that are on no device of the operating system
} sb_file_access;

// ---- the engine -----------------------------------------------------------------------------------------------------

// A cache of the engine that the budget can be charged to, so that filters and cache together stay under the cache's capacity. `cache` is
// the one given to sb_filters_use_cache. Any thread may call the functions, but `room` and `update` only one at a time.
typedef struct {
  // A charge, of 0 bytes at first, with a share in the cache. Owned; released with `release`. `alarm` is called when the cache may be short
  // of room, by any thread, with locks of the cache held: it must not call the engine. `free` is called with `context` after the last
  // alarm, which may come after `release`.
  void* (*charge)(const void* cache, void (*alarm)(void*) SB_NOEXCEPT, void (*free)(void*) SB_NOEXCEPT, void* context)SB_NOEXCEPT;
  uint64_t (*capacity)(void* charge) SB_NOEXCEPT;  // of the cache
  // Bytes that the charge may take: those that others have not pinned, at most this many eighths of the capacity. May take long. Call it
  // often: `alarm` is called only for a while after it.
  uint64_t (*room)(void* charge, unsigned eighths) SB_NOEXCEPT;
  uint64_t (*charged)(void* charge) SB_NOEXCEPT;  // bytes of the charge, with those that `update` is taking
  // Moves the charge to `bytes` or a little more. Returns what the cache grants, or would grant if `end` had not ended this permit.
  uint64_t (*update)(void* charge, uint64_t bytes, uint64_t permit) SB_NOEXCEPT;
  // Gives all bytes back at once, and returns how many. No `update` with an earlier permit takes any afterwards, even if it is running.
  uint64_t (*end)(void* charge, uint64_t permit) SB_NOEXCEPT;
  void (*release)(void* charge) SB_NOEXCEPT;  // gives the bytes back
} sb_cache_calls;

// What the core must know of an engine. A host defines one as a constant; text ends in NUL.
typedef struct {
  // Of table files, whose names are numbers of at least six digits.
  const char* table_extension;
  const char* older_table_extension;  // of tables of an older version; null: the same
  const char* database_file;          // in the folder of every database; the core writes to no other folder
  const char* lock_file;  // in the folder of a database; kept open by the process that has the database open for writing
  // The file in the folder of a database that remembers the use of its tables, and its name while it is written.
  const char* hotness_file;
  const char* hotness_file_new;
  size_t reader_bytes;          // malloc bytes of an open table's reader and its sb_file, which the budget pays for
  const sb_cache_calls* cache;  // null: the engine has none
} sb_engine;

// ---- settings and sharing -------------------------------------------------------------------------------------------

// How many settings there are, and which of them is the budget.
enum { SB_SETTINGS = 10, SB_SETTING_BUDGET = 0 };
// Name of a setting, in static memory.
sb_bytes sb_setting_name(size_t index) SB_NOEXCEPT;
// A setting as an option string gives it.
typedef struct {
  sb_bytes name;
  sb_bytes value;
} sb_setting;

// Whether the value is valid by itself; if not, `error` (of `error_size` bytes) says why.
int sb_setting_can_work(sb_setting setting, char* error, size_t error_size) SB_NOEXCEPT;

// The instance that all option strings share. The first caller's settings create it. A later caller may change the budget of all, and must
// agree in the rest. `engine` is the same for all callers. Returns an owned reference, or null with a message in `error` (of `error_size`
// bytes).
sb_filters* sb_filters_shared_instance(const sb_engine* engine, const sb_setting* settings, size_t count, char* error,
                                       size_t error_size) SB_NOEXCEPT;
// Options have this block cache from now on (null: none). `identity` is unique among the caches in use. If the settings say so, the budget
// is charged to it, together with others in use. `use` becomes an owned share of the charge, or null if nothing is charged to this cache.
// Returns 1, or 0 with a message if no cache can pay.
int sb_filters_use_cache(const sb_filters* filters, const void* cache, const void* identity, sb_cache_use** use, char* error,
                         size_t error_size) SB_NOEXCEPT;
// The last share ends the charge: when this returns, its bytes are free and the core no longer uses the cache. Waits for a running call of
// the cache, so it must not be called from within one.
void sb_cache_use_release(sb_cache_use* use) SB_NOEXCEPT;
// Call when the cache refused an entry: nothing is charged to it for a while. Returns 1 if something was charged: the caller tries again.
int sb_cache_use_yield(const sb_cache_use* use) SB_NOEXCEPT;
// Call when the entry then found room: the budget falls.
void sb_cache_use_has_yielded(const sb_cache_use* use) SB_NOEXCEPT;
// An owned reference to the shared instance, or null if there is none.
sb_filters* sb_filters_shared_instance_if_any(void) SB_NOEXCEPT;
// Drops the process's own reference to the shared instance, which ends, with its threads, when its last owner releases it.
void sb_filters_give_up_shared_instance(void) SB_NOEXCEPT;
void sb_filters_retain(const sb_filters* filters) SB_NOEXCEPT;
void sb_filters_release(const sb_filters* filters) SB_NOEXCEPT;  // drops an owned reference
uint64_t sb_filters_budget_bytes(const sb_filters* filters) SB_NOEXCEPT;
// Also ends the measuring of `budget=auto`. Asks the caches that pay: not to be called with a lock of theirs held.
int sb_filters_set_budget_bytes(const sb_filters* filters, uint64_t budget_bytes) SB_NOEXCEPT;
// Waits until no unit is waiting to be loaded; 0 if the time ran out.
int sb_filters_wait_idle(const sb_filters* filters, uint64_t timeout_ms) SB_NOEXCEPT;
// Calls `take` with the metrics in the text format that Prometheus scrapes, whose Content-Type is SB_METRICS_CONTENT_TYPE.
#define SB_METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
void sb_filters_metrics_text(const sb_filters* filters, void* context,
                             void (*take)(void* context, sb_bytes text) SB_NOEXCEPT) SB_NOEXCEPT;
// Calls `take` with the settings in force, for a log.
void sb_filters_settings_text(const sb_filters* filters, void* context,
                              void (*take)(void* context, sb_bytes text) SB_NOEXCEPT) SB_NOEXCEPT;
// What a host counts: tables without filter units that were opened; tables written without units by a database into whose options filters
// were installed; rejected keys that were looked up all the same (verify_below), and those of them that the table holds; blocks of a table,
// with units or waiting, that a lookup read because no cache had them; tables opened by an iterator that asks no units.
typedef enum {
  SB_WITHOUT_UNITS,
  SB_WRITTEN_WITHOUT_UNITS,
  SB_VERIFIED,
  SB_WRONG_REJECTIONS,
  SB_BLOCK_READS,
  SB_SOUGHT_TABLES,
} sb_counted;
void sb_filters_count(const sb_filters* filters, sb_counted what, uint64_t times) SB_NOEXCEPT;
// Expected wasted reads per lookup at a budget; below 0 before anything was measured.
double sb_filters_wasted_reads_per_lookup(const sb_filters* filters, uint64_t budget_bytes) SB_NOEXCEPT;
// The settings that a host follows. They stay.
typedef struct {
  int creates_filters;            // whether new tables get units
  int shrinks_index;              // whether new tables get an index that needs little memory
  int has_indexes;                // whether the budget may hold indexes of tables
  int assumes_bytewise_equality;  // whether keys that a custom comparator calls equal are equal byte for byte
  uint32_t verify_below;          // a key that units reject is looked up all the same if a random number is below this
} sb_host_settings;
const sb_host_settings* sb_filters_host_settings(const sb_filters* filters) SB_NOEXCEPT;
// Bytes of a block of data in new tables that get such an index, unless the engine's options ask for a size; 0: the engine's default.
uint32_t sb_filters_block_bytes(const sb_filters* filters) SB_NOEXCEPT;
// All tables of the open database with this session take this many bytes now.
void sb_filters_set_data_bytes(const sb_filters* filters, sb_bytes session, uint64_t bytes) SB_NOEXCEPT;

// ---- writing --------------------------------------------------------------------------------------------------------

// `bytewise`: whether the table's order is that of bytes. `session` and `file_number` as in sb_table_spec. Owned; release with
// sb_builder_free.
sb_builder* sb_builder_new(const sb_filters* filters, int bytewise, sb_bytes session, uint64_t file_number) SB_NOEXCEPT;
// Keys in the table's order, without timestamp. `entry_bytes`: key and value, uncompressed.
void sb_builder_add(sb_builder* builder, sb_bytes key, uint64_t entry_bytes) SB_NOEXCEPT;
// The prefix of an entry's key, in the order of the keys, for a table that gets units over prefixes, with or without units over keys.
void sb_builder_add_prefix(sb_builder* builder, sb_bytes prefix, uint64_t entry_bytes) SB_NOEXCEPT;
uint64_t sb_builder_key_count(const sb_builder* builder) SB_NOEXCEPT;
uint64_t sb_builder_bytes_estimate(const sb_builder* builder) SB_NOEXCEPT;  // size of the block if it ended now
uint64_t sb_builder_memory_bytes(const sb_builder* builder) SB_NOEXCEPT;    // in use now
sb_bytes sb_builder_finish(sb_builder* builder) SB_NOEXCEPT;                // borrowed until sb_builder_free; empty: no units
void sb_builder_free(sb_builder* builder) SB_NOEXCEPT;

// ---- reading --------------------------------------------------------------------------------------------------------

// An order of user keys without timestamp, valid during the call. `compare` returns <0, 0, >0; null: the order of bytes.
typedef struct {
  const void* comparator;
  int (*compare)(const void* comparator, sb_bytes a, sb_bytes b) SB_NOEXCEPT;
} sb_comparator;

// Header and directory of a block of filter units, and the block's offset in the file. `session` and file number identify the table, even
// when a path is used again.
typedef struct {
  sb_bytes bytes;
  uint64_t block_offset;
  sb_bytes session;
} sb_head;

// An entry of a table's index: the block whose keys are at most the separator, and greater than the previous one.
typedef struct {
  sb_bytes separator;
  uint64_t offset;
  uint64_t size;  // without the trailer
} sb_index_entry;

// The file of an open table; it keeps alive all that reading it uses, and counts its own shares. Any thread may call the functions. Those
// that return a number return 0 on success.
typedef struct sb_file sb_file;
typedef struct {
  // As in sb_file_access.
  int (*read)(const sb_file* file, uint64_t offset, size_t size, int verify, uint8_t* into) SB_NOEXCEPT;
  // Reads the head of the units over keys, or over prefixes, and passes it to `take` once. Errors: SB_CORRUPT, SB_UNREADABLE,
  // SB_NO_SUCH_UNITS.
  int (*read_head)(const sb_file* file, int32_t contents, void* context,
                   void (*take)(void* context, const sb_head* head) SB_NOEXCEPT) SB_NOEXCEPT;
  // Reads the table's whole index, and passes its entries to `take` in order. Separators are compared byte by byte. Null: not supported.
  int (*read_index)(const sb_file* file, void* context,
                    void (*take)(void* context, const sb_index_entry* entry) SB_NOEXCEPT) SB_NOEXCEPT;
  void (*share)(const sb_file* file) SB_NOEXCEPT;    // takes another share
  void (*release)(const sb_file* file) SB_NOEXCEPT;  // drops a share: the last one closes the file
} sb_file_calls;
// The first member of an adapter's object.
struct sb_file {
  const sb_file_calls* calls;
};

typedef struct {
  sb_bytes path;
  uint64_t file_number;
  int32_t level;             // -1: unknown
  int32_t contents;          // SB_KEYS or SB_PREFIXES
  sb_comparator comparator;  // valid during the call
  sb_bytes family;           // name of the column family that wrote the table, for metrics; empty: unknown
  uint64_t index_bytes;      // approximate bytes of its index in memory if the budget may hold it; else 0
} sb_table_spec;

// A cache of records that the engine asks before its tables. Databases with the same `identity` share it; null: none.
typedef struct {
  const void* identity;
  uint64_t capacity;
} sb_row_cache;

// Call when a column family opens its first table. `session`: the engine's name for this opening of the database. `folder`: the database's
// folder, its name in metrics. `is_for_writing`: whether it may be open for writing. Takes ownership of `files`, which is used until the
// last column family of the database is closed. Owned.
const sb_column_family* sb_column_family_open(const sb_filters* filters, sb_bytes session, sb_bytes folder, int is_for_writing,
                                              sb_row_cache rows, sb_file_access files) SB_NOEXCEPT;
// Call when no table of the column family is open any more. With the last column family of a database, its hotness is saved if allowed, its
// tables are forgotten, and none of its files is accessed any more. `may_wait`: also waits for running accesses and for the log, which
// may take long; otherwise accesses end on their own shares, and lines that the log was not told yet are dropped.
void sb_column_family_close(const sb_filters* filters, const sb_column_family* family, int may_wait) SB_NOEXCEPT;

// About this many lookups started at a table of the column family that has units.
void sb_column_family_count_lookups(const sb_column_family* family, uint64_t lookups) SB_NOEXCEPT;

// From the first bytes of a filter block: 1, and the sizes of the head (header and directory) and of the block; 0: no block of units.
int sb_block_extent(sb_bytes start, uint64_t* head_bytes, uint64_t* block_bytes) SB_NOEXCEPT;
// The units of a table over its keys, and those over its prefixes: these are opened, probed and closed like another table of the same file,
// with the prefixes as its keys in byte order.
enum { SB_KEYS = 0, SB_PREFIXES = 1 };
// Results of checking a head and of opening a table.
enum { SB_OPENED = 0, SB_NO_ROOM = 1, SB_CORRUPT = 2, SB_UNREADABLE = 4, SB_NO_SUCH_UNITS = 5 };
// SB_OPENED: the head is valid, and its block has these units. `units_at` is 0 if the head is theirs; otherwise they follow the block's
// units over keys, and begin with a head of their own this many bytes after the block's start. Or SB_CORRUPT, SB_NO_SUCH_UNITS.
int sb_block_units(sb_bytes head, int32_t contents, uint64_t* units_at) SB_NOEXCEPT;
// Opens a table; close it with sb_table_close. `head` is null if `why` has a reason: SB_NO_ROOM, SB_CORRUPT, SB_UNREADABLE. Returns
// SB_OPENED, or why lookups pass unfiltered. With SB_NO_SUCH_UNITS that is final and `*table` is null; otherwise the table waits, and
// another thread opens it when there is room and it can be read. Takes over the caller's share in `file`, whatever it returns.
int sb_table_open(const sb_filters* filters, const sb_column_family* family, const sb_table_spec* spec, const sb_head* head,
                  int why, const sb_file* file, const sb_table** table) SB_NOEXCEPT;
// Ends the waiting of a table whose file is being deleted. Does not wait for a read.
void sb_table_stop_waiting(const sb_table* table) SB_NOEXCEPT;
// The table file at `path` has moved to another level.
void sb_table_moved(const sb_filters* filters, sb_bytes path, int32_t level) SB_NOEXCEPT;
uint64_t sb_table_memory_bytes(const sb_table* table) SB_NOEXCEPT;
// `filters`: those of sb_table_open. `obsolete`: the file is being deleted, so its state may be forgotten. Does not wait for a running
// read, which keeps its share in the file.
void sb_table_close(const sb_filters* filters, const sb_table* table, int obsolete) SB_NOEXCEPT;

// Bytes that the host keeps for lookups of the calling thread until it ends; the budget pays for them.
void sb_set_host_bytes_of_thread(size_t bytes) SB_NOEXCEPT;
sb_digest sb_digest_of(sb_bytes key) SB_NOEXCEPT;
// The hot path, for an open table, like the functions below: whether the table may hold the key, and the segment that would. No lock, no
// allocation, no I/O. Records a "no"; report how a "maybe" ended with sb_table_record.
int sb_table_may_match(const sb_table* table, const sb_comparator* comparator, sb_digest digest, sb_bytes key,
                       uint32_t* segment) SB_NOEXCEPT;
// A key of a batch and its result: the segment that would hold it, and whether the table may hold it (1) or does not (0).
typedef struct {
  sb_bytes key;
  sb_digest digest;
  uint32_t segment;
  uint32_t may_match;
} sb_batch_key;
// The same for each key of a batch. Faster for keys in the table's order, because neighbours may share a segment.
void sb_table_may_match_batch(const sb_table* table, const sb_comparator* comparator, sb_batch_key* keys,
                              size_t count) SB_NOEXCEPT;
// How a lookup after a "maybe" ended in the table: it found nothing, or its key, or did not find out, because it was not allowed to read a
// block that is not in memory.
typedef enum { SB_MISSING, SB_FOUND, SB_NOT_READ } sb_ended;
void sb_table_record(const sb_table* table, uint32_t segment, sb_ended ended) SB_NOEXCEPT;
// A cursor over the table's index, with the entries of `read_index`, if it is resident; else null. The index stays in memory until the
// cursor is freed. No lock, no I/O. One thread at a time.
typedef struct sb_index_cursor sb_index_cursor;
sb_index_cursor* sb_table_index(const sb_table* table) SB_NOEXCEPT;
void sb_index_cursor_free(sb_index_cursor* cursor) SB_NOEXCEPT;
// Moves to the first entry, the last, the first whose separator is at least `key` (used for SB_SEEK alone), or the next or previous one of
// the last move, which gave one. Returns 1 and the entry's block, or 0 if there is none.
typedef enum { SB_FIRST, SB_LAST, SB_SEEK, SB_NEXT, SB_PREVIOUS } sb_move;
int sb_index_move(sb_index_cursor* cursor, sb_move to, sb_bytes key, uint64_t* offset, uint64_t* size) SB_NOEXCEPT;
// The separator of the entry that the last move gave, until the next move. A seek does not decode it: ask if you need it.
sb_bytes sb_index_separator(sb_index_cursor* cursor) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif
