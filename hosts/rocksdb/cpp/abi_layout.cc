// The layout of every struct that crosses the border to Rust; src/ffi/layout.rs asserts the same numbers.
#include "abi.h"

#include <cstddef>

static_assert(sizeof(sb_table) == 16);
static_assert(sizeof(sb_bytes) == 16);
static_assert(offsetof(sb_bytes, data) == 0);
static_assert(offsetof(sb_bytes, size) == 8);
static_assert(sizeof(sb_digest) == 16);
static_assert(offsetof(sb_digest, lo) == 0);
static_assert(offsetof(sb_digest, hi) == 8);
static_assert(sizeof(sb_file_access) == 40);
static_assert(offsetof(sb_file_access, access) == 0);
static_assert(offsetof(sb_file_access, read) == 8);
static_assert(offsetof(sb_file_access, exists) == 16);
static_assert(offsetof(sb_file_access, log) == 24);
static_assert(offsetof(sb_file_access, free) == 32);
static_assert(sizeof(sb_setting) == 32);
static_assert(offsetof(sb_setting, name) == 0);
static_assert(offsetof(sb_setting, value) == 16);
static_assert(sizeof(sb_key_order) == 16);
static_assert(offsetof(sb_key_order, comparator) == 0);
static_assert(offsetof(sb_key_order, compare) == 8);
static_assert(sizeof(sb_table_spec) == 88);
static_assert(offsetof(sb_table_spec, path) == 0);
static_assert(offsetof(sb_table_spec, session) == 16);
static_assert(offsetof(sb_table_spec, file_number) == 32);
static_assert(offsetof(sb_table_spec, level) == 40);
static_assert(offsetof(sb_table_spec, order) == 48);
static_assert(offsetof(sb_table_spec, head) == 64);
static_assert(offsetof(sb_table_spec, block_offset) == 80);
static_assert(sizeof(springbloom_family_status) == 24);
static_assert(offsetof(springbloom_family_status, is_active) == 0);
static_assert(offsetof(springbloom_family_status, tables_with_units) == 8);
static_assert(offsetof(springbloom_family_status, tables_without_units) == 16);
static_assert(sizeof(springbloom_table_info) == 72);
static_assert(offsetof(springbloom_table_info, file_bytes) == 0);
static_assert(offsetof(springbloom_table_info, entries) == 8);
static_assert(offsetof(springbloom_table_info, data_bytes) == 16);
static_assert(offsetof(springbloom_table_info, filter_bytes) == 24);
static_assert(offsetof(springbloom_table_info, filter_policy) == 32);
static_assert(offsetof(springbloom_table_info, session) == 48);
static_assert(offsetof(springbloom_table_info, orig_file_number) == 64);
static_assert(sizeof(springbloom_inspect_sink) == 24);
static_assert(offsetof(springbloom_inspect_sink, context) == 0);
static_assert(offsetof(springbloom_inspect_sink, table) == 8);
static_assert(offsetof(springbloom_inspect_sink, block) == 16);
