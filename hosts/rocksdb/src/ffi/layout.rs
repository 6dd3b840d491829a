//! The layout of every struct that crosses the border to C++; `cpp/abi_layout.cc` asserts the same numbers.

use std::mem::offset_of;

use super::{
    facts::{IndexSize, TracedBlocks},
    types::{InspectSink, RawCacheTrace, RawIndexOptions, RawListedTable, RawStatus, TableInfo},
};

/// A struct's size, and the offsets of its fields in their order.
macro_rules! layout {
    ($name:ty, $size:literal, $($field:ident: $offset:literal),+) => {
        const _: () = assert!(size_of::<$name>() == $size);
        $(const _: () = assert!(offset_of!($name, $field) == $offset);)+
    };
}

layout!(
    RawStatus, 32, is_active: 0, tables_with_units: 8, tables_without_units: 16, index_block_restart_interval: 24
);
layout!(
    TableInfo, 112, file_bytes: 0, entries: 8, data_bytes: 16, filter_bytes: 24, index_bytes: 32, filter_policy: 40, session: 56,
    orig_file_number: 72, block_offset: 80, block_bytes: 88, raw_bytes: 96, data_blocks: 104
);
layout!(InspectSink, 24, context: 0, table: 8, head: 16);
layout!(RawListedTable, 32, family: 0, number: 16, level: 24);
layout!(RawIndexOptions, 16, restart_interval: 0, block_bytes: 8);
layout!(IndexSize, 32, entries: 0, data_blocks: 8, data_bytes: 16, index_bytes: 24);
layout!(TracedBlocks, 24, asked: 0, missing: 8, missing_bytes: 16);
layout!(RawCacheTrace, 96, family: 0, lookups: 16, data: 24, index: 48, filters: 72);
