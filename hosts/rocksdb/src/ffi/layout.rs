//! The layout of every struct that crosses the border to C++; `cpp/abi_layout.cc` asserts the same numbers.

use std::mem::offset_of;

use super::types::{InspectSink, RawListedTable, RawStatus, TableInfo};

/// A struct's size, and the offsets of its fields in their order.
macro_rules! layout {
    ($name:ty, $size:literal, $($field:ident: $offset:literal),+) => {
        const _: () = assert!(size_of::<$name>() == $size);
        $(const _: () = assert!(offset_of!($name, $field) == $offset);)+
    };
}

layout!(RawStatus, 24, is_active: 0, tables_with_units: 8, tables_without_units: 16);
layout!(
    TableInfo, 96, file_bytes: 0, entries: 8, data_bytes: 16, filter_bytes: 24, index_bytes: 32, filter_policy: 40, session: 56,
    orig_file_number: 72, block_offset: 80, block_bytes: 88
);
layout!(InspectSink, 24, context: 0, table: 8, head: 16);
layout!(RawListedTable, 32, family: 0, number: 16, level: 24);
