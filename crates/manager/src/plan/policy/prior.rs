//! The prior: assumed use of tables that had no lookup yet, so that their units have a worth (decision 0025).

use crate::memory::{grow_thriftily, thrifty_bytes};
use crate::plan::allocation::Allocation;

/// Lookups of each sorted run that the prior stands for, per known segment. Measured use holds some 90 visits a segment (a half-life of
/// 64), so it soon outweighs the prior.
const LOOKUPS_PER_SEGMENT: f32 = 4.0;
/// Tables that one call takes.
const TABLES_PER_CALL: usize = 64;

/// Tables that wait for their prior. It depends on the sizes of all runs, so it is set when no more tables come.
#[derive(Debug, Default)]
pub(super) struct Prior {
    waiting: Vec<u32>,
}

impl Prior {
    /// Bytes of a table.
    pub(super) const TABLE_BYTES: usize = thrifty_bytes::<u32>();

    /// Notes a table with a segment that inherited no use.
    pub(super) fn add_table(&mut self, table: u32, allocation: &Allocation) {
        if allocation.table(table).iter().any(|state| state.hotness().access_count == 0.0) {
            let length = self.waiting.len() + 1;
            grow_thriftily(&mut self.waiting, length);
            self.waiting.push(table);
        }
    }

    /// Forgets a table. O(waiting tables).
    pub(super) fn remove_table(&mut self, table: u32) {
        self.waiting.retain(|&waiting| waiting != table);
    }

    /// Sets the prior of some tables. Returns `false` if none waits.
    pub(super) fn set(&mut self, allocation: &mut Allocation) -> bool {
        let lookups = LOOKUPS_PER_SEGMENT * allocation.segment_count() as f32;
        let from = self.waiting.len().saturating_sub(TABLES_PER_CALL);
        let any = !self.waiting.is_empty();
        for table in self.waiting.drain(from..) {
            allocation.assume_lookups(table, lookups);
        }
        if self.waiting.is_empty() {
            self.waiting = Vec::new();
        }
        any
    }
}
