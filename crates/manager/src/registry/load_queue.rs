//! Which units to read next: first segments with a wasted read, then whole tables.
//!
//! The queue is short. When it is full, a segment's table is noted instead, once, and searched later for units that it lacks. A new table
//! is noted as a whole, so that it is read in rows. A table whose read failed is [tried again](super::failing) after a pause.

use std::collections::VecDeque;
use std::time::Instant;

use super::failing::FailingTables;
use super::table::Table;
use super::table_list::TableList;
use crate::names::SegmentRef;

const SEGMENTS_MAX: usize = 64;

/// Where units are wanted.
pub(super) struct LoadQueue {
    segments: VecDeque<SegmentRef>,
    noted: TableList,
    failing: FailingTables,
}

impl LoadQueue {
    /// Bytes that the queue takes whatever the number of tables.
    pub(super) const FIXED_BYTES: usize = SEGMENTS_MAX * size_of::<SegmentRef>();

    pub(super) fn new() -> Self {
        Self {
            segments: VecDeque::with_capacity(SEGMENTS_MAX),
            noted: TableList::default(),
            failing: FailingTables::default(),
        }
    }

    /// Notes that a segment lacks a unit. `false` if the queue is full: note its table.
    pub(super) fn push_segment(&mut self, segment: SegmentRef) -> bool {
        let has_place = self.segments.len() < SEGMENTS_MAX;
        if has_place {
            self.segments.push_back(segment);
        }
        has_place
    }

    pub(super) fn pop_segment(&mut self) -> Option<SegmentRef> {
        self.segments.pop_front()
    }

    /// Segments and tables that are noted, `most` at most.
    pub(super) fn noted(&self, tables: &[Option<Table>], most: usize) -> usize {
        (self.segments.len() + self.noted.iter(tables).take(most).count()).min(most)
    }

    /// Notes a table, if it is known and not noted yet.
    pub(super) fn push_table(&mut self, tables: &mut [Option<Table>], table: u32) {
        self.noted.push(tables, table);
    }

    /// Takes out the table to read next: one that failed and is due, or the one that was noted first.
    pub(super) fn pop_table(&mut self, tables: &mut [Option<Table>], now: Instant) -> Option<u32> {
        if let Some(table) = self.failing.pop_due(tables, now) {
            return Some(table);
        }
        loop {
            let table = self.noted.pop(tables)?;
            if !self.put_off(tables, table, now) {
                return Some(table);
            }
        }
    }

    /// Whether the table is not to be read now, because reads of it or of its source fail. Then it is tried later.
    pub(super) fn put_off(&mut self, tables: &mut [Option<Table>], table: u32, now: Instant) -> bool {
        let Some(known) = tables.get_mut(table as usize).and_then(Option::as_mut) else { return false };
        let source = known.source;
        if !known.queue_link.has_failed() && !self.failing.is_out(source) {
            return false;
        }
        known.queue_link.set_failed(true);
        self.failing.push(tables, table, source, now);
        true
    }

    /// A read of the table failed. `is_fault`: it may fail for others of its source too. `true` if it is the first fault of the source.
    pub(super) fn count_failure(
        &mut self,
        tables: &mut [Option<Table>],
        table: u32,
        is_fault: bool,
        now: Instant,
    ) -> bool {
        let Some(known) = tables.get_mut(table as usize).and_then(Option::as_mut) else { return false };
        known.queue_link.set_failed(true);
        let source = known.source;
        let is_first = self.failing.count_failure(source, is_fault, now);
        self.failing.push(tables, table, source, now);
        is_first
    }

    /// A read of the table succeeded. `true` if reads of its source failed, and do no more.
    pub(super) fn count_success(&mut self, tables: &mut [Option<Table>], table: u32, now: Instant) -> bool {
        let Some(known) = tables.get_mut(table as usize).and_then(Option::as_mut) else { return false };
        let had_failed = known.queue_link.has_failed();
        known.queue_link.set_failed(false);
        self.failing.count_success(known.source, had_failed, now)
    }

    /// Tables whose units cannot be read at present.
    pub(super) fn failing_count(&self, tables: &[Option<Table>]) -> usize {
        self.failing.count(tables)
    }

    /// Forgets a table, which is still known. O(noted and failing tables).
    pub(super) fn remove_table(&mut self, tables: &mut [Option<Table>], table: u32) {
        self.segments.retain(|segment| segment.table != table);
        if !self.noted.remove(tables, table) {
            self.failing.remove(tables, table);
        }
    }
}
