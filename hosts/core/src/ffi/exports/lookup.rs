//! What a lookup asks a table's units, and tells of its end.

use std::{ffi::c_int, slice};

use springbloom_filter::KeyDigest;
use springbloom_manager::{self as manager, Answer, Outcome, set_host_bytes_of_thread};

use super::{
    super::{
        table::LentTable,
        types::{BatchKey, Ended},
    },
    guarded,
};
use crate::engine::{Bytes, Comparator};

#[unsafe(no_mangle)]
extern "C" fn sb_set_thread_bytes(bytes: usize) {
    guarded((), || set_host_bytes_of_thread(bytes));
}

#[unsafe(no_mangle)]
extern "C" fn sb_digest_of(key: Bytes<'_>) -> KeyDigest {
    guarded(KeyDigest { lo: 0, hi: 0 }, || KeyDigest::of(key.get()))
}

#[unsafe(no_mangle)]
extern "C" fn sb_table_may_match(
    table: LentTable<'_>,
    order: &Comparator,
    digest: KeyDigest,
    key: Bytes<'_>,
    segment: &mut u32,
) -> c_int {
    let unknown = Answer { segment: 0, rejection: None };
    let answer = guarded(unknown, || {
        table.get().handle().map_or(unknown, |handle| handle.may_match(key.get(), digest, order))
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
    order: &Comparator,
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
            handle.may_match_batch(sought, order);
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
