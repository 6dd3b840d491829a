// The border between a host's adapter to its engine, in C or C++, and the Rust core that all hosts share: every function that crosses it,
// with its ownership.
//
// The functions are written in Rust (src/ffi/); a panic of theirs is caught. A function that the core is given must not throw: C++ takes
// none that is not `noexcept`.
// A pointer is borrowed for the call unless the comment says that it is owned.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SB_NOEXCEPT noexcept
extern "C" {
#else
#define SB_NOEXCEPT
#endif

typedef struct sb_filters sb_filters;      // one shared set of settings + manager; reference counted
typedef struct sb_cache_use sb_cache_use;  // a share of the charge to a cache: there is one while options or databases have it
typedef struct sb_builder sb_builder;      // filter units of a table that is being written
typedef struct sb_column_family sb_column_family;  // a column family of a database, while one of its tables is open
// A table from its opening to its closing: its filter units over keys, or over prefixes. `is_open`: 1 from when it has them, to be loaded
// with acquire; until then it may be waiting for its directory, and lookups pass unfiltered.
typedef struct {
  uint32_t is_open;
} sb_table;

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
  // Reads `size` bytes at `offset` of a file into `into`; 0 on success. `verify`: an earlier read was corrupt, and this one is to be
  // verified and reconstructed by the file system; it fails where the file system cannot.
  int (*read)(const void* access, sb_bytes path, uint64_t offset, size_t size, int verify, uint8_t* into) SB_NOEXCEPT;
  int (*exists)(const void* access, sb_bytes path) SB_NOEXCEPT;                // 1 while the file exists
  void (*log)(const void* access, int is_warning, sb_bytes text) SB_NOEXCEPT;  // adds a line to the database's log
  void (*free)(void* access) SB_NOEXCEPT;
  uint64_t file_system;  // the same for databases whose files hang together, if they lie on no device of the operating system
} sb_file_access;

// ---- the engine -----------------------------------------------------------------------------------------------------

// A cache of the engine that the budget can be charged to, so that filters and cache together stay under the cache's capacity. `cache` is
// what sb_filters_use_cache is given. Any thread may call the functions, but only one at a time `room` and `update`.
typedef struct {
  // A charge, of nothing at first; it shares the cache. Owned; released with `release`. `alarm` is called when the cache may have run short
  // of room, by any thread within a call of the cache, whose locks it holds: it must call nothing of the engine. `free` is called with
  // `context` after the last alarm, which may come after `release`.
  void* (*charge)(const void* cache, void (*alarm)(void*) SB_NOEXCEPT, void (*free)(void*) SB_NOEXCEPT, void* context)SB_NOEXCEPT;
  uint64_t (*capacity)(void* charge) SB_NOEXCEPT;  // of the cache
  // Bytes that the charge may take: those that nobody else needs to have in the cache, at most this many eighths of its capacity. May take
  // long. To be called often: `alarm` is called only for a while after it.
  uint64_t (*room)(void* charge, unsigned eighths) SB_NOEXCEPT;
  uint64_t (*charged)(void* charge) SB_NOEXCEPT;  // bytes that the charge has, also those that `update` is taking
  // Moves the charge to `bytes` or a little more; gives what the cache grants, or would, if `end` ended this permit.
  uint64_t (*update)(void* charge, uint64_t bytes, uint64_t permit) SB_NOEXCEPT;
  // Gives all bytes back at once: how many. No `update` by an earlier permit takes any from then on, also none that is under way.
  // `if_refusing`: only if the cache is so full that it refuses entries.
  uint64_t (*end)(void* charge, uint64_t permit, int if_refusing) SB_NOEXCEPT;
  void (*release)(void* charge) SB_NOEXCEPT;  // gives the bytes back
} sb_cache_calls;

// What the core must know of an engine. A host defines one, which stays as it is and where it is; text ends in NUL.
typedef struct {
  // Of table files, whose names are numbers of at least six digits.
  const char* table_extension;
  const char* older_table_extension;  // of tables of an older version; null: the same
  const char* database_file;          // in the folder of every database: no other folder is written to
  const char* lock_file;  // in the folder of a database; kept open by the process that has the database open for writing
  // The file in the folder of a database that remembers the use of its tables, and its name while it is written.
  const char* hotness_file;
  const char* hotness_file_new;
  size_t reader_bytes;          // by malloc, of the reader of an open table with units, and its sb_file: the budget pays for it
  const sb_cache_calls* cache;  // null: the engine has none
} sb_engine;

// ---- settings and sharing -------------------------------------------------------------------------------------------

// How many settings there are, and which of them is the budget.
enum { SB_SETTINGS = 11, SB_SETTING_BUDGET = 0 };
// Name of a setting, in memory that stays.
sb_bytes sb_setting_name(size_t index) SB_NOEXCEPT;
// A setting as an option string gives it.
typedef struct {
  sb_bytes name;
  sb_bytes value;
} sb_setting;

// Whether the value can work by itself; if not, `error` (of `error_size` bytes) has a sentence.
int sb_setting_can_work(sb_setting setting, char* error, size_t error_size) SB_NOEXCEPT;

// The shared instance that option strings share. The first caller's settings create it; a later caller with another
// budget changes the budget of all, and must agree in the rest. `engine` is that of all callers. Returns an owned reference, or null with a
// message in `error` (of `error_size` bytes).
sb_filters* sb_filters_shared_instance(const sb_engine* engine, const sb_setting* settings, size_t count, char* error,
                                       size_t error_size) SB_NOEXCEPT;
// Options have this block cache from now on (null: none; meanwhile no other one has its `identity`): the budget is charged to it, and to
// others in use, if the settings say so. `use` becomes an owned share of that, or null if nothing is charged to this cache. 1; or 0 with a
// message: no cache can pay.
int sb_filters_use_cache(const sb_filters* filters, const void* cache, const void* identity, sb_cache_use** use, char* error,
                         size_t error_size) SB_NOEXCEPT;
// With the last share the charge to the cache ends: its bytes are free, and nothing of ours has the cache, when this returns. It waits for
// a call of the cache that is under way, so that it must not come from within one.
void sb_cache_use_release(sb_cache_use* use) SB_NOEXCEPT;
// The shared instance if there is one, as an owned reference; else null.
sb_filters* sb_filters_shared_instance_if_any(void) SB_NOEXCEPT;
// Gives the shared instance up, for who cannot give settings any more: it ends, and its threads with it, when nobody else owns it.
void sb_filters_give_up_shared_instance(void) SB_NOEXCEPT;
void sb_filters_retain(const sb_filters* filters) SB_NOEXCEPT;
void sb_filters_release(const sb_filters* filters) SB_NOEXCEPT;  // gives one owned reference back
uint64_t sb_filters_budget_bytes(const sb_filters* filters) SB_NOEXCEPT;
// From then on the budget is that one, if it was chosen by measuring before.
int sb_filters_set_budget_bytes(const sb_filters* filters, uint64_t budget_bytes) SB_NOEXCEPT;
// An operation that must not fail for want of room in a cache begins: what is charged to a cache that is too full goes first.
void sb_filters_make_way(const sb_filters* filters) SB_NOEXCEPT;
// A cache refused an entry: nothing is charged for a while, if something was (1). Then the caller tries again.
int sb_filters_yield_to_cache(const sb_filters* filters) SB_NOEXCEPT;
// The entry found room after that: a good part of the budget is given up.
void sb_filters_have_yielded_to_cache(const sb_filters* filters) SB_NOEXCEPT;
// Waits until no unit is waiting to be loaded; whether that came true in time.
int sb_filters_wait_idle(const sb_filters* filters, uint64_t timeout_ms) SB_NOEXCEPT;
// Calls `take` with the metrics in the text format that Prometheus scrapes, whose Content-Type is SB_METRICS_CONTENT_TYPE.
#define SB_METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
void sb_filters_metrics_text(const sb_filters* filters, void* context,
                             void (*take)(void* context, sb_bytes text) SB_NOEXCEPT) SB_NOEXCEPT;
// Calls `take` with the settings in force, for a log.
void sb_filters_settings_text(const sb_filters* filters, void* context,
                              void (*take)(void* context, sb_bytes text) SB_NOEXCEPT) SB_NOEXCEPT;
// A table without filter units was opened.
void sb_filters_count_table_without_units(const sb_filters* filters) SB_NOEXCEPT;
// A database into whose options filters were installed wrote a table without units.
void sb_filters_count_written_without_units(const sb_filters* filters) SB_NOEXCEPT;
// Wasted reads per lookup to expect at a budget, from what was measured; below 0 before anything was.
double sb_filters_wasted_reads_per_lookup(const sb_filters* filters, uint64_t budget_bytes) SB_NOEXCEPT;
// Whether keys that a custom comparator calls equal may be trusted to be equal byte for byte.
int sb_filters_assumes_bytewise_equality(const sb_filters* filters) SB_NOEXCEPT;
// Whether new tables get units.
int sb_filters_writes_units(const sb_filters* filters) SB_NOEXCEPT;
// Whether they get an index that needs little memory, unless the options of the engine ask for another one.
int sb_filters_shrinks_index(const sb_filters* filters) SB_NOEXCEPT;
// Whether the budget pays for tables' indexes in memory.
int sb_filters_has_indexes(const sb_filters* filters) SB_NOEXCEPT;
// Whether they get units over further prefixes.
int sb_filters_writes_further_prefixes(const sb_filters* filters) SB_NOEXCEPT;

// ---- writing --------------------------------------------------------------------------------------------------------

// `bytewise`: whether the table's order is that of bytes. `session` and `file_number` as in sb_table_spec. Owned; release with
// sb_builder_free.
sb_builder* sb_builder_new(const sb_filters* filters, int bytewise, sb_bytes session, uint64_t file_number) SB_NOEXCEPT;
// Keys in the table's order, without timestamp. `entry_bytes`: key and value, uncompressed.
void sb_builder_add(sb_builder* builder, sb_bytes key, uint64_t entry_bytes) SB_NOEXCEPT;
// The prefixes of the entry's key, where the table gets units over them, in the order of the keys. Both, or this alone. `prefix`: by the
// extractor; null: the key has none.
void sb_builder_add_prefixes(sb_builder* builder, const sb_bytes* prefix, sb_bytes key, uint64_t entry_bytes) SB_NOEXCEPT;
uint64_t sb_builder_key_count(const sb_builder* builder) SB_NOEXCEPT;
uint64_t sb_builder_bytes_estimate(const sb_builder* builder) SB_NOEXCEPT;  // size of the block if it ended now
uint64_t sb_builder_memory_bytes(const sb_builder* builder) SB_NOEXCEPT;    // that it takes now
sb_bytes sb_builder_finish(sb_builder* builder) SB_NOEXCEPT;                // borrowed until sb_builder_free; empty: no units
void sb_builder_free(sb_builder* builder) SB_NOEXCEPT;

// ---- reading --------------------------------------------------------------------------------------------------------

// An order of user keys without timestamp, valid for the time of a call. `compare` gives <0, 0, >0; null: the order of bytes.
typedef struct {
  const void* comparator;
  int (*compare)(const void* comparator, sb_bytes a, sb_bytes b) SB_NOEXCEPT;
} sb_comparator;

// Header and directory of a block of filter units, and where in the file that block is. `session`: with the file number, tells which table
// this is, even when a path is used again.
typedef struct {
  sb_bytes bytes;
  uint64_t block_offset;
  sb_bytes session;
} sb_head;

// An entry of a table's index: where the block lies whose keys are at most the separator, and larger than the one before.
typedef struct {
  sb_bytes separator;
  uint64_t offset;
  uint64_t size;  // without what stands behind a block
} sb_index_entry;

// The file of an open table, with a share in all that reading it uses. It counts its own shares; any thread may call the functions. A
// function that gives a number gives 0 on success.
typedef struct sb_file sb_file;
typedef struct {
  // As of sb_file_access.
  int (*read)(const sb_file* file, uint64_t offset, size_t size, int verify, uint8_t* into) SB_NOEXCEPT;
  // Reads the head of the units with such contents, and gives it to `take`, once. Else: SB_CORRUPT, SB_UNREADABLE, SB_NO_SUCH_UNITS.
  int (*read_head)(const sb_file* file, int32_t contents, void* context,
                   void (*take)(void* context, const sb_head* head) SB_NOEXCEPT) SB_NOEXCEPT;
  // Reads the table's whole index, and gives `take` its entries, in their order. Separators are compared byte by byte. Null: the adapter
  // cannot.
  int (*read_index)(const sb_file* file, void* context,
                    void (*take)(void* context, const sb_index_entry* entry) SB_NOEXCEPT) SB_NOEXCEPT;
  void (*share)(const sb_file* file) SB_NOEXCEPT;    // takes another share
  void (*release)(const sb_file* file) SB_NOEXCEPT;  // gives a share back: the last one closes the file
} sb_file_calls;
// What an adapter's object begins with.
struct sb_file {
  const sb_file_calls* calls;
};

typedef struct {
  sb_bytes path;
  uint64_t file_number;
  int32_t level;     // -1: unknown
  int32_t contents;  // SB_KEYS or SB_PREFIXES: which units are meant
  sb_comparator comparator;
  sb_bytes family;       // name of the column family that wrote the table, for metrics; empty: unknown
  uint64_t index_bytes;  // of its index in memory, about, if the budget may pay for it; else 0
} sb_table_spec;

// A column family has its first table open. `session`: the engine's name for this opening of the database; `folder`: where the database
// is, which is its name in metrics; `is_for_writing`: whether it may have been opened to write. `files` is given away; it is used until the
// last column family of the database is closed. Owned.
const sb_column_family* sb_column_family_open(const sb_filters* filters, sb_bytes session, sb_bytes folder, int is_for_writing,
                                              sb_file_access files) SB_NOEXCEPT;
// No table of the column family is open any more. With the last one of a database, its use is written down if it may be, its tables are
// forgotten, and no file of it is accessed from here on. `may_wait`: nor is one being accessed when this returns, which may take long;
// without, what is read has shares in all that it uses.
void sb_column_family_close(const sb_filters* filters, const sb_column_family* family, int may_wait) SB_NOEXCEPT;

// About this many lookups began with a table of the column family that has units.
void sb_column_family_count_lookups(const sb_column_family* family, uint64_t lookups) SB_NOEXCEPT;

// Given the first bytes of a filter block: 1, and how long the head (header and directory) and the block are; 0: not ours.
int sb_block_extent(sb_bytes start, uint64_t* head_bytes, uint64_t* block_bytes) SB_NOEXCEPT;
// What the units of a block with this head are over. After the block of keys may come one of prefixes, at `prefixes_at` from its beginning:
// the extent of the first has both. A table's prefixes are opened, asked, and closed like another table of that file, which has them as its
// keys in the order of bytes.
enum { SB_UNKNOWN_CONTENTS = 0, SB_KEYS = 1, SB_KEYS_BEFORE_PREFIXES = 2, SB_PREFIXES = 3 };
int sb_block_contents(sb_bytes head, uint64_t* prefixes_at) SB_NOEXCEPT;
// How long the prefix of `from` is, by the rules of further prefixes of an open table's units, with which all keys begin from `from` on
// and below `end`, in the order of bytes; 0: there is none.
size_t sb_table_further_prefix_of_range(const sb_table* table, sb_bytes from, sb_bytes end) SB_NOEXCEPT;
// What a head is good for, and what opening a table comes to.
enum { SB_OPENED = 0, SB_NO_ROOM = 1, SB_CORRUPT = 2, SB_UNREADABLE = 4, SB_NO_SUCH_UNITS = 5 };
// SB_OPENED: it is sound, and has these contents; or SB_CORRUPT, SB_NO_SUCH_UNITS.
int sb_head_check(sb_bytes head, int32_t contents) SB_NOEXCEPT;
// Opens a table; close with sb_table_close. `head`: null if `why` says why there is none: SB_NO_ROOM, SB_CORRUPT, SB_UNREADABLE. Gives
// SB_OPENED, or why lookups pass unfiltered: SB_NO_SUCH_UNITS for good, and `*table` is null then; else the table waits, and is opened by
// another thread as soon as there is room for it and it can be read. A share in `file` is given away.
int sb_table_open(const sb_filters* filters, const sb_column_family* family, const sb_table_spec* spec, const sb_head* head,
                  int why, const sb_file* file, const sb_table** table) SB_NOEXCEPT;
// If it waits, it does so no more: its file is going away. Does not wait for a read.
void sb_table_stop_waiting(const sb_table* table) SB_NOEXCEPT;
// The table file at `path` is at another level of its tree from now on.
void sb_table_moved(const sb_filters* filters, sb_bytes path, int32_t level) SB_NOEXCEPT;
uint64_t sb_table_memory_bytes(const sb_table* table) SB_NOEXCEPT;
// `filters`: what it was opened with. `obsolete`: the file is going away, so its state may be forgotten. Does not wait for a read: one that
// is under way keeps its share in the file.
void sb_table_close(const sb_filters* filters, const sb_table* table, int obsolete) SB_NOEXCEPT;

// The host keeps this many bytes for the lookups of the calling thread until the thread ends: the budget pays for them.
void sb_set_thread_bytes(size_t bytes) SB_NOEXCEPT;
// A lookup had to read this many blocks of a table, with units or waiting, because no cache had them.
void sb_filters_count_block_reads(const sb_filters* filters, uint64_t reads) SB_NOEXCEPT;
// An iterator opened a table, and asks no units: what it will read is not counted.
void sb_filters_count_sought_table(const sb_filters* filters) SB_NOEXCEPT;
sb_digest sb_digest_of(sb_bytes key) SB_NOEXCEPT;
// The hot path, of an open table, as are those below: whether the table may hold the key, and the segment that would. No lock, no
// allocation, no I/O. A "no" is recorded; what a "maybe" turns out to be, the others are told.
int sb_table_may_match(const sb_table* table, const sb_comparator* comparator, sb_digest digest, sb_bytes key,
                       uint32_t* segment) SB_NOEXCEPT;
// A key of a batch, and what was found: the segment that would hold it, and whether the table may (1) or does not (0).
typedef struct {
  sb_bytes key;
  sb_digest digest;
  uint32_t segment;
  uint32_t may_match;
} sb_batch_key;
// The same for each key of a batch. Faster for keys in the table's order, as neighbours may be in one segment.
void sb_table_may_match_batch(const sb_table* table, const sb_comparator* comparator, sb_batch_key* keys,
                              size_t count) SB_NOEXCEPT;
// What a lookup that a "maybe" let pass came to in the table: it found nothing, or what it looked for.
void sb_table_record_missing(const sb_table* table, uint32_t segment) SB_NOEXCEPT;
void sb_table_record_found(const sb_table* table, uint32_t segment) SB_NOEXCEPT;
// Whether the table has the key was not found out: that takes a block which is not in memory, and the lookup was not to read it.
void sb_table_record_not_read(const sb_table* table, uint32_t segment) SB_NOEXCEPT;
// A place in the table's index, which has the entries that `read_index` gave, if it is resident; else null. The index stays in memory until
// the cursor is freed. No lock, no I/O. Not for several threads at once.
typedef struct sb_index_cursor sb_index_cursor;
sb_index_cursor* sb_table_index(const sb_table* table) SB_NOEXCEPT;
void sb_index_cursor_free(sb_index_cursor* cursor) SB_NOEXCEPT;
// Each gives an entry, whose separator is readable until the next call, or 0 where there is none: the first one, the last one, the first
// one whose separator is at least `key`, the one behind or before that of the last call, which gave one.
int sb_index_first(sb_index_cursor* cursor, sb_index_entry* entry) SB_NOEXCEPT;
int sb_index_last(sb_index_cursor* cursor, sb_index_entry* entry) SB_NOEXCEPT;
int sb_index_seek(sb_index_cursor* cursor, sb_bytes key, sb_index_entry* entry) SB_NOEXCEPT;
int sb_index_next(sb_index_cursor* cursor, sb_index_entry* entry) SB_NOEXCEPT;
int sb_index_previous(sb_index_cursor* cursor, sb_index_entry* entry) SB_NOEXCEPT;

#ifdef __cplusplus
}
#endif
