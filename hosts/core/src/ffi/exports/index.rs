//! The functions of the C header for a table's index in memory.

use std::{ffi::c_int, sync::Arc};

use springbloom_index::Cursor;
use springbloom_manager::LoadedIndex;

use super::{
    super::{table::LentTable, types::Move},
    guarded,
};
use crate::engine::{Bytes, IndexEntry};

struct IndexCursor {
    index: Arc<LoadedIndex>,
    cursor: Cursor,
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_index(table: LentTable<'_>) -> Option<Box<IndexCursor>> {
    guarded(None, || {
        let index = table.get().handle()?.loaded_index()?;
        Some(Box::new(IndexCursor { index, cursor: Cursor::default() }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn sb_index_cursor_free(cursor: Option<Box<IndexCursor>>) {
    guarded((), || drop(cursor));
}

#[unsafe(no_mangle)]
extern "C" fn sb_index_move<'a>(
    IndexCursor { index, cursor }: &'a mut IndexCursor,
    to: Move,
    key: Bytes<'_>,
    entry: &mut IndexEntry<'a>,
) -> c_int {
    let found = guarded(None, || match to {
        Move::First => cursor.first(index),
        Move::Last => cursor.last(index),
        Move::Seek => cursor.seek(index, key.get()),
        Move::Next => cursor.next(index),
        Move::Previous => cursor.previous(index),
    });
    let Some(found) = found else { return 0 };
    *entry =
        IndexEntry { separator: Bytes::of(found.separator), offset: found.offset, size: found.size.into() };
    1
}
