//! Tables whose last read of units failed. The plan still wants their units: they are read again until that works, at a bounded rate. So a
//! fault that passes leaves no trace.
//!
//! Faults come by device or folder, and so by source. A source that failed is tried again after a pause, which doubles up to a second, with
//! a few of its tables. When one of these can be read, the pause is short again, and the next try takes twice as many.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::table_list::TableList;
use crate::registry::tables::Tables;

const PAUSE_MIN: Duration = Duration::from_millis(32);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Tables of a source that are tried after a pause.
const TRIES_MIN: u32 = 16;
/// After this many failures in a row, no table of the source is read but those that are tried again.
const OUT_AFTER: u32 = 16;

/// The failing tables of all sources.
#[derive(Default)]
pub(crate) struct FailingTables {
    sources: HashMap<u32, FailingSource>,
}

struct FailingSource {
    tables: TableList,
    failures_in_a_row: u32,
    pause: Duration,
    /// When the next tries begin.
    due: Instant,
    tries: u32,
    tries_left: u32,
}

/// A pause, up to a quarter shorter or longer: what failed together is not tried again together.
fn jittered(pause: Duration, now: Instant, since: Instant) -> Duration {
    let noise = now.duration_since(since).subsec_nanos() % 512;
    pause * (768 + noise) / 1024
}

impl FailingSource {
    fn new(now: Instant) -> Self {
        Self {
            tables: TableList::default(),
            failures_in_a_row: 0,
            pause: PAUSE_MIN,
            due: now + PAUSE_MIN,
            tries: TRIES_MIN,
            tries_left: 0,
        }
    }

    fn is_due(&mut self, now: Instant) -> bool {
        if now >= self.due {
            let pause = jittered(self.pause, now, self.due);
            self.due = now + pause;
            self.pause = (self.pause * 2).min(PAUSE_MAX);
            self.tries_left = self.tries;
        }
        self.tries_left > 0 && !self.tables.is_empty()
    }
}

impl FailingTables {
    /// A read of a unit of the source failed. `is_fault`: it says something of the source, not of one table alone. `true` if the source had
    /// no fault since its last read.
    pub(crate) fn count_failure(&mut self, source: u32, is_fault: bool, now: Instant) -> bool {
        let failing = self.sources.entry(source).or_insert_with(|| FailingSource::new(now));
        failing.tries = TRIES_MIN;
        // The pause follows the tries: if they take longer than it, other sources get their turn in it.
        failing.due = failing.due.max(now + failing.pause / 2);
        if is_fault {
            failing.failures_in_a_row = failing.failures_in_a_row.saturating_add(1);
        }
        failing.failures_in_a_row == 1
    }

    /// A read of a unit of the source succeeded, of a table that had failed if `was_failing`. `true` if nothing of the source fails now.
    pub(crate) fn count_success(&mut self, source: u32, was_failing: bool, now: Instant) -> bool {
        let Some(failing) = self.sources.get_mut(&source) else { return false };
        failing.failures_in_a_row = 0;
        if was_failing {
            failing.pause = PAUSE_MIN;
            failing.tries = failing.tries.saturating_mul(2);
            failing.due = failing.due.min(now + PAUSE_MIN);
        }
        let is_over = failing.tables.is_empty();
        if is_over {
            self.sources.remove(&source);
        }
        is_over
    }

    /// Whether the source failed so often that it is read for tries alone.
    pub(crate) fn is_out(&self, source: u32) -> bool {
        self.sources.get(&source).is_some_and(|failing| failing.failures_in_a_row >= OUT_AFTER)
    }

    /// Adds a table that is in no list.
    pub(crate) fn push(&mut self, tables: &mut Tables, table: u32, source: u32, now: Instant) {
        let failing = self.sources.entry(source).or_insert_with(|| FailingSource::new(now));
        failing.tables.push(tables, table);
    }

    /// Takes out a table that is to be tried again now, and those before it that lack no unit any more: a read that had begun when they
    /// were put off brought them.
    pub(crate) fn pop_due(
        &mut self,
        tables: &mut Tables,
        now: Instant,
        may_read: impl Fn(&Tables, u32) -> bool,
        is_lacking: impl Fn(&Tables, u32) -> bool,
    ) -> Option<u32> {
        let mut sources = self.sources.iter_mut().filter(|&(source, _)| may_read(tables, *source));
        let failing = sources.find_map(|(_, failing)| failing.is_due(now).then_some(failing))?;
        loop {
            let table = failing.tables.pop(tables)?;
            if is_lacking(tables, table) {
                failing.tries_left -= 1;
                return Some(table);
            }
        }
    }

    /// Whether a table is to be tried again now, of a source that may be read.
    pub(crate) fn has_due(&mut self, now: Instant, may_read: impl Fn(u32) -> bool) -> bool {
        self.sources.iter_mut().any(|(source, failing)| may_read(*source) && failing.is_due(now))
    }

    /// Forgets a table, which is still known. O(failing tables).
    pub(crate) fn remove(&mut self, tables: &mut Tables, table: u32) {
        self.sources.values_mut().any(|failing| failing.tables.remove(tables, table));
        self.sources.retain(|_, failing| !failing.tables.is_empty());
    }

    /// Failing tables: those in the lists of which no read succeeded since. O(tables in the lists).
    pub(crate) fn count(&self, tables: &Tables) -> usize {
        let has_failed = |table: &u32| tables.get(*table).is_some_and(|table| table.queue_link.has_failed());
        self.sources.values().map(|failing| failing.tables.iter(tables).filter(has_failed).count()).sum()
    }
}
