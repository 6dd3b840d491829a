//! Units of a table that is being written, and their block.

use std::ffi::c_int;

use springbloom_format::{BlockHeader, Contents, Directory};

use super::{OPENED, guarded};
use crate::{
    engine::Bytes,
    instance::Filters,
    tables::{open_table::OpenError, unit_builder::UnitBuilder},
};

#[unsafe(no_mangle)]
extern "C" fn sb_builder_new(
    filters: &Filters,
    bytewise: c_int,
    session: Bytes<'_>,
    file_number: u64,
) -> Option<Box<UnitBuilder>> {
    let (settings, memory) = (&filters.settings, &filters.tables.builder_bytes);
    guarded(None, || {
        Some(Box::new(UnitBuilder::new(settings, memory, bytewise != 0, session.get(), file_number)))
    })
}

/// What a builder is given without a panic, or it gives up.
fn add_guarded(builder: &mut UnitBuilder, add: impl FnOnce(&mut UnitBuilder)) {
    let is_added = guarded(false, || {
        add(builder);
        true
    });
    if !is_added {
        builder.give_up();
    }
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_add(builder: &mut UnitBuilder, key: Bytes<'_>, entry_bytes: u64) {
    add_guarded(builder, |builder| builder.add(key.get(), entry_bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_add_prefix(builder: &mut UnitBuilder, prefix: Bytes<'_>, entry_bytes: u64) {
    add_guarded(builder, |builder| builder.add_prefix(prefix.get(), entry_bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_key_count(builder: &UnitBuilder) -> u64 {
    guarded(0, || builder.key_count())
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_bytes_estimate(builder: &UnitBuilder) -> u64 {
    guarded(0, || builder.block_bytes_estimate())
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_memory_bytes(builder: &UnitBuilder) -> u64 {
    guarded(0, || builder.memory_bytes())
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_finish(builder: &mut UnitBuilder) -> Bytes<'_> {
    guarded(Bytes::of(&[]), || Bytes::of(builder.finish()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_builder_free(builder: Option<Box<UnitBuilder>>) {
    guarded((), || drop(builder));
}

#[unsafe(no_mangle)]
extern "C" fn sb_block_extent(start: Bytes<'_>, head_bytes: &mut u64, block_bytes: &mut u64) -> c_int {
    let Some(header) = guarded(None, || BlockHeader::parse(start.get()).ok()) else { return 0 };
    (*head_bytes, *block_bytes) = (header.head_bytes(), header.block_bytes);
    1
}

#[unsafe(no_mangle)]
extern "C" fn sb_block_units(head: Bytes<'_>, contents: c_int, units_at: &mut u64) -> c_int {
    let corrupt = Err(OpenError::Corrupt);
    let found = guarded(corrupt, || match Directory::parse(head.get()) {
        Ok(directory) if (directory.contents() == Contents::Prefixes) == (contents != 0) => Ok(0),
        Ok(directory) if contents != 0 => directory.prefixes_at().ok_or(OpenError::NoSuchUnits),
        Ok(_) => Err(OpenError::NoSuchUnits),
        Err(_) => corrupt,
    });
    *units_at = found.unwrap_or(0);
    found.map_or_else(OpenError::code, |_| OPENED)
}
