//! The layout of every struct of the C interface; `include/springbloom_abi_layout.h` asserts the same numbers.

use std::mem::offset_of;

use super::types::{BatchKey, Digest, Setting, TableSpec};
use crate::{
    engine::{Access, Bytes, CacheCalls, Comparator, Engine, File, FileCalls, Head, IndexEntry, RowCache},
    tables::open_table::OpenTable,
};

/// A struct's size, and the offsets of its fields in their order.
macro_rules! layout {
    ($name:ty, $size:literal, $($field:ident: $offset:literal),+) => {
        const _: () = assert!(size_of::<$name>() == $size);
        $(const _: () = assert!(offset_of!($name, $field) == $offset);)+
    };
}

// `sb_table`.
const _: () = assert!(OpenTable::IS_OPEN_AT == 0);
layout!(Bytes, 16, data: 0, size: 8);
layout!(Digest, 16, lo: 0, hi: 8);
layout!(Access, 48, access: 0, read: 8, exists: 16, log: 24, free: 32, file_system: 40);
layout!(Setting, 32, name: 0, value: 16);
layout!(Comparator, 16, comparator: 0, compare: 8);
layout!(Head, 40, bytes: 0, block_offset: 16, session: 24);
layout!(IndexEntry, 32, separator: 0, offset: 16, size: 24);
layout!(FileCalls, 40, read: 0, read_head: 8, read_index: 16, share: 24, release: 32);
layout!(File, 8, calls: 0);
layout!(TableSpec, 72, path: 0, file_number: 16, level: 24, contents: 28, comparator: 32, family: 48, index_bytes: 64);
layout!(BatchKey, 40, key: 0, digest: 16, segment: 32, may_match: 36);
layout!(RowCache, 16, identity: 0, capacity: 8);
layout!(CacheCalls, 56, charge: 0, capacity: 8, room: 16, charged: 24, update: 32, end: 40, release: 48);
layout!(
    Engine, 64,
    table_extension: 0, older_table_extension: 8, database_file: 16, lock_file: 24, hotness_file: 32, hotness_file_new: 40,
    reader_bytes: 48, cache: 56
);
