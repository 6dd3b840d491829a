//! What a lookup asks a table's units, and tells of its end; and the table's index in memory.

use std::{ffi::c_int, slice, sync::Arc};

use springbloom_filter::KeyDigest;
use springbloom_index::Cursor;
use springbloom_manager::{self as manager, Answer, LoadedIndex, Outcome, set_host_bytes_of_thread};

use super::{guarded, owned::LentTable};
use crate::engine::{Bytes, EngineComparator};

/// A key of a batch.
#[repr(C)]
pub(super) struct BatchKey<'a> {
    pub(super) key: Bytes<'a>,
    pub(super) digest: KeyDigest,
    pub(super) segment: u32,
    pub(super) may_match: u32,
}

/// How a lookup of a key that may match ended.
#[repr(C)]
#[expect(dead_code, reason = "the adapter makes them")]
enum Ended {
    Missing,
    Found,
    NotRead,
}

/// Where a cursor goes.
#[repr(C)]
#[expect(dead_code, reason = "the adapter makes them")]
enum Move {
    First,
    Last,
    Seek,
    Next,
    Previous,
}

#[unsafe(no_mangle)]
extern "C" fn sb_set_host_bytes_of_thread(bytes: usize) {
    guarded((), || set_host_bytes_of_thread(bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_digest_of(key: Bytes<'_>) -> KeyDigest {
    guarded(KeyDigest { lo: 0, hi: 0 }, || KeyDigest::of(key.get()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_may_match(
    table: LentTable<'_>,
    comparator: &EngineComparator,
    digest: KeyDigest,
    key: Bytes<'_>,
    segment: &mut u32,
) -> c_int {
    let unknown = Answer { segment: 0, rejection: None };
    let answer = guarded(unknown, || {
        table.get().handle().map_or(unknown, |handle| handle.may_match(key.get(), digest, comparator))
    });
    *segment = answer.segment;
    answer.may_match().into()
}

impl manager::BatchKey for BatchKey<'_> {
    fn key(&self) -> &[u8] {
        self.key.get()
    }

    fn digest(&self) -> KeyDigest {
        self.digest
    }

    fn set_answer(&mut self, answer: Answer) {
        (self.segment, self.may_match) = (answer.segment, answer.may_match().into());
    }
}

/// # Safety
/// `sought` points to `count` keys, which are writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn sb_table_may_match_batch(
    table: LentTable<'_>,
    comparator: &EngineComparator,
    sought: *mut BatchKey<'_>,
    count: usize,
) {
    if count == 0 {
        return;
    }
    // SAFETY: borrowed for the call.
    let sought = unsafe { slice::from_raw_parts_mut(sought, count) };
    for key in &mut *sought {
        // Whatever happens.
        (key.segment, key.may_match) = (0, 1);
    }
    guarded((), || {
        if let Some(handle) = table.get().handle() {
            handle.may_match_batch(sought, comparator);
        }
    });
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_record(table: LentTable<'_>, segment: u32, ended: Ended) {
    guarded((), || {
        let table = table.get();
        let Some(handle) = table.handle() else { return };
        match ended {
            Ended::Missing => handle.record(segment, Outcome::WastedRead),
            Ended::Found => handle.record(segment, Outcome::TruePositive),
            Ended::NotRead => handle.record(segment, Outcome::NotRead),
        }
    });
}

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
extern "C" fn sb_index_move(
    IndexCursor { index, cursor }: &mut IndexCursor,
    to: Move,
    key: Bytes<'_>,
    offset: &mut u64,
    size: &mut u64,
) -> c_int {
    let found = guarded(None, || match to {
        Move::First => cursor.first(index),
        Move::Last => cursor.last(index),
        Move::Seek => cursor.seek(index, key.get()),
        Move::Next => cursor.next(index),
        Move::Previous => cursor.previous(index),
    });
    let Some(block) = found else { return 0 };
    (*offset, *size) = (block.offset, block.size.into());
    1
}

#[unsafe(no_mangle)]
extern "C" fn sb_index_separator(IndexCursor { index, cursor }: &mut IndexCursor) -> Bytes<'_> {
    Bytes::of(guarded(&[], || cursor.separator(index)))
}
