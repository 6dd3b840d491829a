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
    TableInfo, 88, file_bytes: 0, entries: 8, data_bytes: 16, filter_bytes: 24, filter_policy: 32, session: 48, orig_file_number: 64,
    block_offset: 72, block_bytes: 80
);
layout!(InspectSink, 24, context: 0, table: 8, head: 16);
layout!(RawListedTable, 32, family: 0, number: 16, level: 24);
