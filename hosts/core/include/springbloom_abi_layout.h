// The layout of every struct of springbloom_abi.h; src/ffi/layout.rs asserts the same numbers. For one C++ source of a host.
#pragma once

#include <cstddef>

#include "springbloom_abi.h"

static_assert(offsetof(sb_table, is_open) == 0);
static_assert(sizeof(sb_bytes) == 16);
static_assert(offsetof(sb_bytes, data) == 0);
static_assert(offsetof(sb_bytes, size) == 8);
static_assert(sizeof(sb_digest) == 16);
static_assert(offsetof(sb_digest, lo) == 0);
static_assert(offsetof(sb_digest, hi) == 8);
static_assert(sizeof(sb_file_access) == 48);
static_assert(offsetof(sb_file_access, access) == 0);
static_assert(offsetof(sb_file_access, read) == 8);
static_assert(offsetof(sb_file_access, exists) == 16);
static_assert(offsetof(sb_file_access, log) == 24);
static_assert(offsetof(sb_file_access, free) == 32);
static_assert(offsetof(sb_file_access, file_system) == 40);
static_assert(sizeof(sb_setting) == 32);
static_assert(offsetof(sb_setting, name) == 0);
static_assert(offsetof(sb_setting, value) == 16);
static_assert(sizeof(sb_comparator) == 16);
static_assert(offsetof(sb_comparator, comparator) == 0);
static_assert(offsetof(sb_comparator, compare) == 8);
static_assert(sizeof(sb_head) == 40);
static_assert(offsetof(sb_head, bytes) == 0);
static_assert(offsetof(sb_head, block_offset) == 16);
static_assert(offsetof(sb_head, session) == 24);
static_assert(sizeof(sb_index_entry) == 32);
static_assert(offsetof(sb_index_entry, separator) == 0);
static_assert(offsetof(sb_index_entry, offset) == 16);
static_assert(offsetof(sb_index_entry, size) == 24);
static_assert(sizeof(sb_file_calls) == 40);
static_assert(offsetof(sb_file_calls, read) == 0);
static_assert(offsetof(sb_file_calls, read_head) == 8);
static_assert(offsetof(sb_file_calls, read_index) == 16);
static_assert(offsetof(sb_file_calls, share) == 24);
static_assert(offsetof(sb_file_calls, release) == 32);
static_assert(sizeof(sb_file) == 8);
static_assert(offsetof(sb_file, calls) == 0);
static_assert(sizeof(sb_table_spec) == 72);
static_assert(offsetof(sb_table_spec, path) == 0);
static_assert(offsetof(sb_table_spec, file_number) == 16);
static_assert(offsetof(sb_table_spec, level) == 24);
static_assert(offsetof(sb_table_spec, contents) == 28);
static_assert(offsetof(sb_table_spec, comparator) == 32);
static_assert(offsetof(sb_table_spec, family) == 48);
static_assert(offsetof(sb_table_spec, index_bytes) == 64);
static_assert(sizeof(sb_batch_key) == 40);
static_assert(offsetof(sb_batch_key, key) == 0);
static_assert(offsetof(sb_batch_key, digest) == 16);
static_assert(offsetof(sb_batch_key, segment) == 32);
static_assert(offsetof(sb_batch_key, may_match) == 36);
static_assert(sizeof(sb_row_cache) == 16);
static_assert(offsetof(sb_row_cache, identity) == 0);
static_assert(offsetof(sb_row_cache, capacity) == 8);
static_assert(sizeof(sb_cache_calls) == 56);
static_assert(offsetof(sb_cache_calls, charge) == 0);
static_assert(offsetof(sb_cache_calls, capacity) == 8);
static_assert(offsetof(sb_cache_calls, room) == 16);
static_assert(offsetof(sb_cache_calls, charged) == 24);
static_assert(offsetof(sb_cache_calls, update) == 32);
static_assert(offsetof(sb_cache_calls, end) == 40);
static_assert(offsetof(sb_cache_calls, release) == 48);
static_assert(sizeof(sb_engine) == 64);
static_assert(offsetof(sb_engine, table_extension) == 0);
static_assert(offsetof(sb_engine, older_table_extension) == 8);
static_assert(offsetof(sb_engine, database_file) == 16);
static_assert(offsetof(sb_engine, lock_file) == 24);
static_assert(offsetof(sb_engine, hotness_file) == 32);
static_assert(offsetof(sb_engine, hotness_file_new) == 40);
static_assert(offsetof(sb_engine, reader_bytes) == 48);
static_assert(offsetof(sb_engine, cache) == 56);
