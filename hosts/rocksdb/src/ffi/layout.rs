//! The layout of every struct that crosses the border to C++; `cpp/abi_layout.cc` asserts the same numbers.

use std::mem::offset_of;

use super::types::{Access, Bytes, Digest, InspectSink, Order, RawStatus, Setting, TableInfo, TableSpec};
use crate::tables::table_filter::TableFilter;

/// A struct's size, and the offsets of its fields in their order.
macro_rules! layout {
    ($name:ty, $size:literal, $($field:ident: $offset:literal),+) => {
        const _: () = assert!(size_of::<$name>() == $size);
        $(const _: () = assert!(offset_of!($name, $field) == $offset);)+
    };
}

// `sb_table`.
const _: () = assert!(size_of::<TableFilter>() == 16 && align_of::<TableFilter>() == align_of::<usize>());
layout!(Bytes, 16, data: 0, size: 8);
layout!(Digest, 16, lo: 0, hi: 8);
layout!(Access, 40, access: 0, read: 8, exists: 16, log: 24, free: 32);
layout!(Setting, 32, name: 0, value: 16);
layout!(Order, 16, comparator: 0, compare: 8);
layout!(TableSpec, 88, path: 0, session: 16, file_number: 32, level: 40, order: 48, head: 64, block_offset: 80);
layout!(RawStatus, 24, is_active: 0, tables_with_units: 8, tables_without_units: 16);
layout!(TableInfo, 72, file_bytes: 0, entries: 8, data_bytes: 16, filter_bytes: 24, filter_policy: 32, session: 48, orig_file_number: 64);
layout!(InspectSink, 24, context: 0, table: 8, block: 16);
