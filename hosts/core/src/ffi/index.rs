//! The functions of the C header for a table's index in memory.

use std::{ffi::c_int, ptr, sync::Arc};

use springbloom_index::{Cursor, Entry};
use springbloom_manager::LoadedIndex;

use super::exports::guarded;
use crate::{
    engine::{Bytes, IndexEntry},
    tables::open_table::OpenTable,
};

struct IndexCursor {
    index: Arc<LoadedIndex>,
    cursor: Cursor,
}

/// # Safety
/// `table` is alive.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_index(table: *const OpenTable) -> *mut IndexCursor {
    // SAFETY: borrowed for the call.
    let table = unsafe { &*table };
    guarded(ptr::null_mut(), || {
        let new = |index| Box::into_raw(Box::new(IndexCursor { index, cursor: Cursor::default() }));
        table.loaded_index().map_or(ptr::null_mut(), new)
    })
}

/// # Safety
/// `cursor` is from `sb_table_index`, and is not used again.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_index_cursor_free(cursor: *mut IndexCursor) {
    // SAFETY: the caller's promise.
    let cursor = unsafe { Box::from_raw(cursor) };
    guarded((), || drop(cursor));
}

/// # Safety
/// Nobody else uses the cursor, `entry` is writable.
unsafe fn give(
    cursor: *mut IndexCursor,
    entry: *mut IndexEntry,
    find: impl for<'a> FnOnce(&'a mut Cursor, &LoadedIndex) -> Option<Entry<'a>>,
) -> c_int {
    // SAFETY: the caller's promise.
    let (IndexCursor { index, cursor }, entry) = unsafe { (&mut *cursor, &mut *entry) };
    guarded(0, || {
        let found = find(cursor, index);
        if let Some(Entry { separator, offset, size }) = found {
            *entry = IndexEntry { separator: Bytes::of(separator), offset, size: size.into() };
        }
        c_int::from(found.is_some())
    })
}

/// # Safety
/// As `give`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_index_first(cursor: *mut IndexCursor, entry: *mut IndexEntry) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { give(cursor, entry, |cursor, index| cursor.first(index)) }
}

/// # Safety
/// As `give`.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_index_last(cursor: *mut IndexCursor, entry: *mut IndexEntry) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { give(cursor, entry, |cursor, index| cursor.last(index)) }
}

/// # Safety
/// As `give`; `key` is readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_index_seek(cursor: *mut IndexCursor, key: Bytes, entry: *mut IndexEntry) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { give(cursor, entry, |cursor, index| cursor.seek(index, key.get())) }
}

/// # Safety
/// As `give`; the last call gave an entry.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_index_next(cursor: *mut IndexCursor, entry: *mut IndexEntry) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { give(cursor, entry, |cursor, index| cursor.next(index)) }
}

/// # Safety
/// As `give`; the last call gave an entry.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_index_previous(cursor: *mut IndexCursor, entry: *mut IndexEntry) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { give(cursor, entry, |cursor, index| cursor.previous(index)) }
}
