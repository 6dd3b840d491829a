//! Column families and their tables.

use std::{
    ffi::{OsStr, c_int},
    os::unix::ffi::OsStrExt,
    path::Path,
    ptr::NonNull,
    sync::atomic::AtomicU64,
};

use springbloom_manager::Comparator;

use super::{
    OPENED, guarded,
    owned::{LentTable, OwnedTable, Shared},
};
use crate::{
    engine::{Access, Bytes, EngineComparator, File, FileAccess, Head, OpenFile, RowCache},
    instance::Filters,
    tables::{
        databases::ColumnFamily,
        open_table::{self, OpenError, Opening},
    },
};

#[repr(C)]
pub(super) struct TableSpec<'a> {
    pub(super) path: Bytes<'a>,
    pub(super) file_number: u64,
    pub(super) level: i32,
    pub(super) contents: c_int,
    pub(super) comparator: EngineComparator,
    pub(super) family: Bytes<'a>,
    pub(super) index_bytes: u64,
}

fn path_of(bytes: Bytes<'_>) -> &Path {
    Path::new(OsStr::from_bytes(bytes.get()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_column_family_open(
    filters: &Filters,
    session: Bytes<'_>,
    folder: Bytes<'_>,
    is_for_writing: c_int,
    rows: RowCache,
    files: Access,
) -> Shared<ColumnFamily> {
    let files = FileAccess::new(files);
    let databases = &filters.tables.databases;
    let open = || databases.open(session.get(), folder.get(), is_for_writing != 0, rows, files);
    Shared::of(guarded(None, || Some(open())))
}

#[unsafe(no_mangle)]
extern "C" fn sb_column_family_close(filters: &Filters, family: Shared<ColumnFamily>, may_wait: c_int) {
    guarded((), || {
        // It is null where opening it failed.
        if let Some(family) = family.taken() {
            filters.tables.close_column_family(&family, may_wait != 0);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn sb_column_family_count_lookups(family: Option<&ColumnFamily>, lookups: u64) {
    guarded((), || family.into_iter().for_each(|family| family.database.count_lookups(lookups)));
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_open(
    filters: &Filters,
    family: Shared<ColumnFamily>,
    spec: &TableSpec<'_>,
    head: Option<&Head<'_>>,
    why: c_int,
    file: NonNull<File>,
    table: &mut OwnedTable,
) -> c_int {
    let file = OpenFile::new(file);
    let never = || (None, Err(OpenError::NoSuchUnits));
    let (opened, result) = guarded(never(), || {
        let Some(family) = family.again() else { return never() }; // opening it failed
        family.learn_name(spec.family.get());
        let head = head.map(|head| head.owned()).ok_or(OpenError::of_code(why));
        let is_of_prefixes = spec.contents != 0;
        // A table has its prefixes as if they were the keys of another one.
        let comparator = if is_of_prefixes { EngineComparator::BYTEWISE } else { spec.comparator };
        let opening = Opening {
            tables: filters.tables.clone(),
            family,
            path: path_of(spec.path).into(),
            file_number: spec.file_number,
            level: u8::try_from(spec.level).ok(),
            is_of_prefixes,
            is_bytewise: comparator.is_bytewise(),
            file,
            index_bytes: usize::try_from(spec.index_bytes).unwrap_or(usize::MAX),
            number: AtomicU64::new(0),
        };
        open_table::open(opening, &comparator, head)
    });
    *table = OwnedTable::of(opened);
    result.map_or_else(OpenError::code, |()| OPENED)
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_stop_waiting(table: LentTable<'_>) {
    guarded((), || table.get().give_up());
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_moved(filters: &Filters, path: Bytes<'_>, level: i32) {
    guarded((), || filters.tables.set_level(path_of(path), u8::try_from(level).ok()));
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_memory_bytes(table: LentTable<'_>) -> u64 {
    guarded(0, || table.get().handle().map_or(0, |handle| handle.memory_bytes() as u64))
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_close(filters: &Filters, table: OwnedTable, obsolete: c_int) {
    guarded((), || table.taken().into_iter().for_each(|table| table.close(&filters.tables, obsolete != 0)));
}
