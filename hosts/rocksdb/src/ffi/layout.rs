//! Structures are laid out in Rust as the header declares them for C++.

use std::mem::offset_of;

use springbloom_testkit::header::Structs;

use super::{
    facts::{FamilyStatus, IndexOptions, IndexSize},
    types::{RawListedTable, RawLookup, TableInfo},
};

#[test]
fn structures_are_those_of_the_header() {
    let core = include_str!("../../cpp/springbloom_abi.h");
    let mut header = Structs::of(&[core, include_str!("../../cpp/abi.h")].concat());
    macro_rules! same {
        ($c:literal, $rust:ty, $($field:ident),+) => {
            header.require($c, size_of::<$rust>(), &[$((stringify!($field), offset_of!($rust, $field))),+]);
        };
    }
    same!(
        "springbloom_family_status",
        FamilyStatus,
        is_active,
        tables_with_units,
        tables_without_units,
        index_block_restart_interval
    );
    same!(
        "springbloom_table_info",
        TableInfo<'_>,
        file_bytes,
        entries,
        data_bytes,
        filter_bytes,
        index_bytes,
        filter_policy,
        session,
        orig_file_number,
        block_offset,
        block_bytes,
        raw_bytes,
        data_blocks,
        head
    );
    same!(
        "springbloom_listed_table",
        RawListedTable<'_>,
        family,
        comparator,
        smallest,
        largest,
        number,
        epoch,
        newest_sequence,
        level
    );
    same!("springbloom_lookup", RawLookup, newest, ends_lookup, index_blocks, data_blocks);
    same!("springbloom_index_options", IndexOptions, restart_interval, block_bytes);
    same!("springbloom_index_size", IndexSize, entries, data_blocks, data_bytes, index_bytes);
    let rest = header.names();
    assert!(rest.iter().all(|name| name.starts_with("sb_")), "they are not compared: {rest:?}");
}
