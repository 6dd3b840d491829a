//! Structures are laid out in Rust as the header declares them for C.

use std::mem::offset_of;

use springbloom_filter::KeyDigest;
use springbloom_testkit::header::Structs;

use super::{filters::Setting, lookup::BatchKey, table::TableSpec};
use crate::{
    engine::{
        Access, Bytes, CacheCalls, Engine, EngineComparator, File, FileCalls, Head, IndexEntry, RowCache,
    },
    settings::HostSettings,
};

#[test]
fn structures_are_those_of_the_header() {
    let mut header = Structs::of(include_str!("../../include/springbloom_abi.h"));
    macro_rules! same {
        ($c:literal, $rust:ty, $($field:ident),+) => {
            header.require($c, size_of::<$rust>(), &[$((stringify!($field), offset_of!($rust, $field))),+]);
        };
    }
    same!("sb_bytes", Bytes<'_>, data, size);
    same!("sb_digest", KeyDigest, lo, hi);
    same!("sb_file_access", Access, access, read, exists, log, free, file_system);
    same!("sb_setting", Setting<'_>, name, value);
    same!("sb_comparator", EngineComparator, comparator, compare);
    same!("sb_head", Head<'_>, bytes, block_offset, session);
    same!("sb_index_entry", IndexEntry<'_>, separator, offset, size);
    same!("sb_file_calls", FileCalls, read, read_head, read_index, share, release);
    same!("sb_file", File, calls);
    same!(
        "sb_table_spec",
        TableSpec<'_>,
        path,
        file_number,
        level,
        contents,
        comparator,
        family,
        index_bytes
    );
    same!("sb_batch_key", BatchKey<'_>, key, digest, segment, may_match);
    same!("sb_row_cache", RowCache, identity, capacity);
    same!("sb_cache_calls", CacheCalls, charge, capacity, room, charged, update, end, release);
    same!(
        "sb_engine",
        Engine,
        table_extension,
        older_table_extension,
        database_file,
        lock_file,
        hotness_file,
        hotness_file_new,
        reader_bytes,
        cache
    );
    same!(
        "sb_host_settings",
        HostSettings,
        creates_filters,
        shrinks_index,
        has_indexes,
        assumes_bytewise_equality,
        verify_below
    );
    assert_eq!(header.names(), Vec::<&str>::new(), "they are not compared");
}
