// The layout of every struct that crosses the border to Rust; src/ffi/layout.rs asserts the same numbers.
#include "abi.h"
#include "springbloom_abi_layout.h"

static_assert(sizeof(springbloom_family_status) == 32);
static_assert(offsetof(springbloom_family_status, is_active) == 0);
static_assert(offsetof(springbloom_family_status, tables_with_units) == 8);
static_assert(offsetof(springbloom_family_status, tables_without_units) == 16);
static_assert(offsetof(springbloom_family_status, index_block_restart_interval) == 24);
static_assert(sizeof(springbloom_table_info) == 112);
static_assert(offsetof(springbloom_table_info, file_bytes) == 0);
static_assert(offsetof(springbloom_table_info, entries) == 8);
static_assert(offsetof(springbloom_table_info, data_bytes) == 16);
static_assert(offsetof(springbloom_table_info, filter_bytes) == 24);
static_assert(offsetof(springbloom_table_info, index_bytes) == 32);
static_assert(offsetof(springbloom_table_info, filter_policy) == 40);
static_assert(offsetof(springbloom_table_info, session) == 56);
static_assert(offsetof(springbloom_table_info, orig_file_number) == 72);
static_assert(offsetof(springbloom_table_info, block_offset) == 80);
static_assert(offsetof(springbloom_table_info, block_bytes) == 88);
static_assert(offsetof(springbloom_table_info, raw_bytes) == 96);
static_assert(offsetof(springbloom_table_info, data_blocks) == 104);
static_assert(sizeof(springbloom_inspect_sink) == 24);
static_assert(offsetof(springbloom_inspect_sink, context) == 0);
static_assert(offsetof(springbloom_inspect_sink, table) == 8);
static_assert(offsetof(springbloom_inspect_sink, head) == 16);
static_assert(sizeof(springbloom_listed_table) == 32);
static_assert(offsetof(springbloom_listed_table, family) == 0);
static_assert(offsetof(springbloom_listed_table, number) == 16);
static_assert(offsetof(springbloom_listed_table, level) == 24);
static_assert(sizeof(springbloom_index_options) == 16);
static_assert(offsetof(springbloom_index_options, restart_interval) == 0);
static_assert(offsetof(springbloom_index_options, block_bytes) == 8);
static_assert(sizeof(springbloom_index_size) == 32);
static_assert(offsetof(springbloom_index_size, entries) == 0);
static_assert(offsetof(springbloom_index_size, data_blocks) == 8);
static_assert(offsetof(springbloom_index_size, data_bytes) == 16);
static_assert(offsetof(springbloom_index_size, index_bytes) == 24);
static_assert(sizeof(springbloom_traced_blocks) == 24);
static_assert(offsetof(springbloom_traced_blocks, asked) == 0);
static_assert(offsetof(springbloom_traced_blocks, missing) == 8);
static_assert(offsetof(springbloom_traced_blocks, missing_bytes) == 16);
static_assert(sizeof(springbloom_cache_trace) == 96);
static_assert(offsetof(springbloom_cache_trace, family) == 0);
static_assert(offsetof(springbloom_cache_trace, lookups) == 16);
static_assert(offsetof(springbloom_cache_trace, data) == 24);
static_assert(offsetof(springbloom_cache_trace, index) == 48);
static_assert(offsetof(springbloom_cache_trace, filters) == 72);
