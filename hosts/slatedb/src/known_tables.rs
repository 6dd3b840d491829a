//! The tables of a database that lookups ask, and which of them they ask no more.
//!
//! SlateDB tells a filter neither that compaction replaced its table nor that nobody has the table any more: the filter stays in SlateDB's
//! cache. What tells is what lookups do. A table that got a share of the questions and then none, while the others got many, is gone, if a
//! newer table came since. A mistake costs reads of units: the next question makes the table known again.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwapOption, Guard};
use parking_lot::Mutex;
use springbloom_manager::{Manager, Reservation, TableHandle, TableId, allocated_bytes};

use crate::{absent_share::AbsentShare, head::UnitsName};

/// All tables are looked at after this number of questions to one of them. The pause between two looks is at least as many times as long as
/// the last one took.
const LOOK_AFTER: u32 = 64;
const LOOK_PAUSE_MIN: Duration = Duration::from_millis(5);
const LOOK_PAUSE_TIMES: u32 = 50;
/// Looks that must find a table without a question: lookups that wait for a read have asked some tables only.
const SILENT_LOOKS: u32 = 2;
/// Questions that a table would have got in the meantime, from what it got before.
const MISSED_QUESTIONS: f32 = 32.0;
/// Older questions count half after this many.
const REMEMBERED_QUESTIONS: f32 = 1e6;
/// A table for whose bookkeeping the budget has no room is tried again once in this many questions.
const RETRY_EVERY: u32 = 1024;

/// A table that the manager knows, and forgets when this is dropped.
pub(crate) struct Open {
    pub(crate) handle: TableHandle,
    absent: Box<[AbsentShare]>,
    _forgotten: Forgotten,
    /// For the shares.
    _paid: Reservation,
}

/// After the handle was dropped, so that the table's bytes are free at once.
struct Forgotten {
    manager: Arc<Manager>,
    table: TableId,
}

impl Drop for Forgotten {
    fn drop(&mut self) {
        self.manager.forget(self.table);
    }
}

impl Open {
    /// `None`: there is no room for it.
    pub(crate) fn new(handle: TableHandle, manager: Arc<Manager>, segments: usize) -> Option<Self> {
        let paid = manager.reserve(allocated_bytes(segments * size_of::<AbsentShare>()));
        let forgotten = Forgotten { manager, table: handle.id() };
        let Some(paid) = paid else {
            drop(handle);
            return None;
        };
        let absent = (0..segments).map(|_| AbsentShare::default()).collect();
        Some(Self { handle, absent, _forgotten: forgotten, _paid: paid })
    }

    pub(crate) fn absent(&self, segment: u32) -> Option<&AbsentShare> {
        self.absent.get(segment as usize)
    }
}

/// What all filters of a table share, of all readers.
pub(crate) struct Known {
    id: UnitsId,
    open: ArcSwapOption<Open>,
    /// Held by who registers the table.
    opening: Mutex<()>,
    /// Of looks. They hold the map's lock, so this one is always free.
    usage: Mutex<Usage>,
    /// Since the last look.
    questions: AtomicU32,
    /// While it is not open.
    tries: AtomicU32,
}

/// What a known table takes of the budget before its segments and units.
pub(crate) const KNOWN_BYTES: usize = allocated_bytes(size_of::<Known>() + COUNTS)
    + allocated_bytes(size_of::<Open>() + COUNTS)
    // A map may be less than half full, and has a byte for each place.
    + 5 * (size_of::<(UnitsId, Arc<Known>)>() + 1) / 2;
/// Of an `Arc`.
const COUNTS: usize = 2 * size_of::<usize>();

impl Known {
    /// What the manager has of the table, if it is open.
    pub(crate) fn open(&self) -> Guard<Option<Arc<Open>>> {
        self.open.load()
    }

    /// At a question: opens the table, unless it is open, is not to be tried now, or another thread is at it.
    pub(crate) fn open_now_and_then(&self, tables: &KnownTables, open: impl FnOnce() -> Option<Open>) {
        let is_open = || self.open.load().is_some();
        if is_open() || !self.tries.fetch_add(1, Relaxed).is_multiple_of(RETRY_EVERY) {
            return;
        }
        let Some(_opening) = self.opening.try_lock() else { return };
        if is_open() {
            return;
        }
        if let Some(open) = open() {
            self.open.store(Some(Arc::new(open)));
            tables.opened(self);
        }
    }
}

/// The random part of a table's [`UnitsName`], in bytes because a `u128` would take 8 more for its alignment.
type UnitsId = [u8; 16];

/// What lookups asked of a table that is open.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// Of the table, and of all tables in the same time.
    questions: f32,
    questions_of_all: f32,
    /// Of all tables, since the last one of this table.
    missed: f32,
    silent_looks: u32,
    /// Tables that surely came before the last question.
    met_before: u32,
}

impl Usage {
    /// This many tables came before the look that was the last one.
    fn look(&mut self, questions: f32, of_all: f32, met_before: u32) {
        if questions > 0.0 {
            self.questions += questions;
            self.questions_of_all += self.missed + of_all;
            (self.missed, self.silent_looks) = (0.0, 0);
            self.met_before = self.met_before.max(met_before);
        } else {
            self.missed += of_all;
            self.silent_looks += 1;
        }
        if self.questions_of_all > REMEMBERED_QUESTIONS {
            self.questions /= 2.0;
            self.questions_of_all /= 2.0;
        }
    }

    /// Whether lookups ask it no more. One that was not asked yet is expected to get as much as the mean of this many tables.
    fn is_over(&self, met: u32, tables: usize) -> bool {
        let share = (self.questions + 1.0) / (self.questions_of_all + tables as f32);
        self.silent_looks >= SILENT_LOOKS && self.met_before < met && self.missed * share >= MISSED_QUESTIONS
    }
}

/// All tables of a database that a filter is of, or that are open.
pub(crate) struct KnownTables {
    begin: Instant,
    next_look_micros: AtomicU64,
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    by_id: HashMap<UnitsId, Arc<Known>>,
    /// This many came so far, and before the last look, those included that there was no room for.
    met: u32,
    met_before: u32,
}

impl Default for KnownTables {
    fn default() -> Self {
        Self { begin: Instant::now(), next_look_micros: AtomicU64::new(0), tables: Mutex::default() }
    }
}

impl KnownTables {
    pub(crate) fn get_or_insert(&self, name: UnitsName) -> Arc<Known> {
        let id = name.id.to_le_bytes();
        let mut tables = self.tables.lock();
        let Tables { by_id, met, .. } = &mut *tables;
        let known = by_id.entry(id).or_insert_with(|| {
            *met = met.saturating_add(1);
            let (open, opening, usage, questions, tries) = Default::default();
            Arc::new(Known { id, open, opening, usage, questions, tries })
        });
        known.clone()
    }

    fn opened(&self, known: &Known) {
        let tables = self.tables.lock();
        *known.usage.lock() = Usage { met_before: tables.met, ..Usage::default() };
    }

    /// A filter of the table is about to go.
    pub(crate) fn let_go(&self, known: Arc<Known>) {
        let mut tables = self.tables.lock();
        // This one, and the map's.
        if known.open.load().is_none() && Arc::strong_count(&known) <= 2 {
            tables.by_id.remove(&known.id);
        }
    }

    pub(crate) fn close_all(&self) {
        let mut tables = self.tables.lock();
        let close = |known: &Arc<Known>| {
            known.tries.store(0, Relaxed);
            known.open.swap(None)
        };
        let closed: Vec<_> = tables.by_id.values().filter_map(close).collect();
        tables.by_id.retain(|_, known| Arc::strong_count(known) > 1);
        drop(tables);
        drop(closed);
    }

    /// Counts a question to a table, and looks now and then which tables get none.
    pub(crate) fn count_question(&self, known: &Known) {
        let is_due = known.questions.fetch_add(1, Relaxed) % LOOK_AFTER == LOOK_AFTER - 1;
        if is_due && self.begins_look() {
            self.look();
        }
    }

    /// Whether the caller is to look now.
    fn begins_look(&self) -> bool {
        let (now, next) = (self.micros(), self.next_look_micros.load(Relaxed));
        let later = now + LOOK_PAUSE_MIN.as_micros() as u64;
        now >= next && self.next_look_micros.compare_exchange(next, later, Relaxed, Relaxed).is_ok()
    }

    fn micros(&self) -> u64 {
        self.begin.elapsed().as_micros() as u64
    }

    /// Closes the tables that lookups ask no more. O(tables).
    fn look(&self) {
        let begin = Instant::now();
        let mut closed = Vec::new();
        let mut tables = self.tables.lock();
        let Tables { by_id, met, met_before } = &mut *tables;
        let take = |known: &Arc<Known>| known.questions.swap(0, Relaxed) as f32;
        let questions: Vec<f32> = by_id.values().map(take).collect();
        let (of_all, count) = (questions.iter().sum(), questions.len());
        for (known, questions) in by_id.values().zip(questions) {
            let mut usage = known.usage.lock();
            usage.look(questions, of_all, *met_before);
            if usage.is_over(*met, count)
                && let Some(open) = known.open.swap(None)
            {
                closed.push(open);
            }
        }
        *met_before = *met;
        // There may be room now for those that found none; and the closed ones may be asked again.
        if !closed.is_empty() {
            by_id.values().for_each(|known| known.tries.store(0, Relaxed));
        }
        by_id.retain(|_, known| known.open.load().is_some() || Arc::strong_count(known) > 1);
        if by_id.capacity() > 4 * by_id.len() + 64 {
            by_id.shrink_to_fit();
        }
        drop(tables);
        // The manager may take a moment for each.
        drop(closed);
        let pause = LOOK_PAUSE_MIN.max(begin.elapsed() * LOOK_PAUSE_TIMES);
        self.next_look_micros.fetch_max(self.micros() + pause.as_micros() as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks until a table that had the first share of the questions, and then none, is over; `None` if it never is.
    fn looks_until_over(share: f32, met: u32, of_all: f32) -> Option<u32> {
        let mut usage = Usage { met_before: 1, ..Usage::default() };
        for _ in 0..100 {
            usage.look(share * of_all, of_all, 1);
            assert!(!usage.is_over(1, 10));
        }
        (1..1000).find(|_| {
            usage.look(0.0, of_all, met);
            usage.is_over(met, 10)
        })
    }

    #[test]
    fn a_table_is_over_when_it_missed_what_it_used_to_get() {
        // The second newest of five that each lookup asks: some forty lookups, but two looks at least.
        assert_eq!(looks_until_over(0.2, 2, 256.0), Some(2));
        // One of a hundred in a run below them.
        let looks = looks_until_over(0.002, 2, 256.0).expect("it is over");
        assert!((50..80).contains(&looks), "{looks} looks");
    }

    #[test]
    fn a_table_stays_while_none_came_after_it() {
        assert_eq!(looks_until_over(0.2, 1, 1e6), None);
    }

    #[test]
    fn a_table_that_nobody_asked_yet_is_expected_to_get_the_mean() {
        let mut usage = Usage { met_before: 1, ..Usage::default() };
        let missed = (1..1000).find(|_| {
            usage.look(0.0, 100.0, 2);
            usage.is_over(2, 50)
        });
        assert_eq!(missed, Some(16), "times two questions of each table");
    }
}
