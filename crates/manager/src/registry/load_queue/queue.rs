//! Which units to read next: first segments with a wasted read, then whole tables.
//!
//! The queue is short. When it is full, a segment's table is queued instead, once, and searched later for units that it lacks. A new
//! table is queued as a whole, so that it is read in rows. A table whose read failed is [tried again](super::failing) after a pause.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::failing::FailingTables;
use super::in_flight::InFlight;
use super::request::{LoadRequest, lacking_segment};
use super::tables_to_read::TablesToRead;
use super::waiting::WaitingTables;
use crate::chore::Chore;
use crate::memory::{list_bytes, list_places};
use crate::names::SegmentRef;
use crate::plan::Allocation;
use crate::registry::tables::Tables;
use crate::unit_source::Place;
use crate::waiting_table::{WaitingTable, WaitsFor};

const SEGMENTS_MAX: usize = 64;

/// Whether a queued table is about to be read in rows, which have the units of all its segments. One by one they would take many reads.
fn comes_with_its_table(tables: &Tables, allocation: &Allocation, table: u32) -> bool {
    tables.get(table).is_some_and(|table| table.queue_link.is_linked())
        && lacking_segment(tables, allocation, table).is_some_and(|(_, rows)| rows > 0)
}

/// A try to open a waiting table.
pub(crate) struct Try {
    pub(crate) table: Arc<dyn WaitingTable>,
    place: Place,
    waiting: u64,
    number: u64,
}

/// Where a wanted unit is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadBy {
    /// A lookup wasted a read: soon, the segment alone.
    Segment,
    /// One of many: with its table, in rows.
    Table,
}

/// Where units are wanted.
#[derive(Default)]
pub(crate) struct LoadQueue {
    segments: VecDeque<SegmentRef>,
    pub(crate) tables_to_read: TablesToRead,
    pub(crate) failing: FailingTables,
    pub(crate) in_flight: InFlight,
    /// What the host has done with files, before units are read.
    pub(crate) chores: VecDeque<Chore>,
    pub(crate) waiting: WaitingTables,
}

impl LoadQueue {
    /// Bytes of the queue for this number of segments.
    pub(crate) fn list_bytes(segments: usize) -> usize {
        list_bytes::<SegmentRef>(segments.min(SEGMENTS_MAX))
    }

    /// Notes that a segment lacks a unit. `false` if the queue is full: queue its table.
    pub(crate) fn push_segment(&mut self, segment: SegmentRef) -> bool {
        let is_queued = self.segments.contains(&segment);
        let has_place = self.segments.len() < SEGMENTS_MAX;
        if has_place && !is_queued {
            self.segments.push_back(segment);
        }
        has_place || is_queued
    }

    /// The units to read next.
    pub(crate) fn next_request(
        &mut self,
        tables: &mut Tables,
        allocation: &Allocation,
    ) -> Option<LoadRequest> {
        let now = Instant::now();
        loop {
            let (segment, rows, is_for_table) = if let Some(segment) = self.segments.pop_front() {
                if self.put_off(tables, allocation, segment.table, now)
                    || comes_with_its_table(tables, allocation, segment.table)
                {
                    continue;
                }
                let Some(source) = tables.get(segment.table).map(|table| table.source) else { continue };
                if !self.in_flight.may_begin(tables.place_of(source)) {
                    self.tables_to_read.push(tables, segment.table);
                    continue;
                }
                (segment, 0, false)
            } else {
                let table = self.pop_table(tables, allocation, now)?;
                let Some((segment, rows)) = lacking_segment(tables, allocation, table) else { continue };
                (segment, rows, true)
            };
            let request = LoadRequest::new(tables, allocation, segment, rows, is_for_table);
            if request.as_ref().is_some_and(|request| !self.in_flight.must_wait(request.place, segment.table))
            {
                return request;
            }
        }
    }

    /// Whether something is to be read now.
    pub(crate) fn has_reads(&mut self, tables: &Tables) -> bool {
        let Self { segments, tables_to_read, failing, in_flight, .. } = self;
        let may_read = |source| in_flight.may_begin(tables.place_of(source));
        !segments.is_empty() || tables_to_read.has_any(may_read) || failing.has_due(Instant::now(), may_read)
    }

    /// Whether a chore may begin.
    pub(crate) fn has_chores(&self) -> bool {
        self.chores.iter().any(|chore| self.in_flight.may_begin(chore.place))
    }

    /// Whether a directory is to be read now. `frees`: of the budget.
    pub(crate) fn has_waiting(&self, frees: u64) -> bool {
        self.waiting.has_due(frees, Instant::now(), |place| self.in_flight.may_begin(place))
    }

    /// The table whose directory is to be read next, if one is. Its try begins.
    pub(crate) fn begin_waiting(&mut self, frees: u64) -> Option<Try> {
        let may_begin = |place| self.in_flight.may_begin(place);
        let (waiting, table, place) = self.waiting.begin(frees, Instant::now(), may_begin)?;
        Some(Try { table, place, waiting, number: self.in_flight.begin(place, None, 0) })
    }

    /// The try ended so. Gives back what is dropped without the registry's lock.
    pub(crate) fn end_waiting(&mut self, ended: Try, why: Option<WaitsFor>) -> Arc<dyn WaitingTable> {
        let Try { table, place, waiting, number } = ended;
        self.in_flight.end(number);
        self.waiting.end(waiting, place, why, Instant::now());
        table
    }

    /// The next chore of a place with a thread to spare, which begins, and its number for [`end`](InFlight::end).
    pub(crate) fn begin_chore(&mut self) -> Option<(Chore, u64)> {
        let at = self.chores.iter().position(|chore| self.in_flight.may_begin(chore.place))?;
        let chore = self.chores.remove(at)?;
        let number = self.in_flight.begin(chore.place, None, 0);
        Some((chore, number))
    }

    /// Takes out the table to read next: one that failed and is due, or [one](TablesToRead::pop) that waits for its turn.
    fn pop_table(&mut self, tables: &mut Tables, allocation: &Allocation, now: Instant) -> Option<u32> {
        let is_lacking = |tables: &Tables, table| lacking_segment(tables, allocation, table).is_some();
        let may_read = |tables: &Tables, source| self.in_flight.may_begin(tables.place_of(source));
        if let Some(table) = self.failing.pop_due(tables, now, may_read, is_lacking) {
            return Some(table);
        }
        loop {
            let may_read = |tables: &Tables, source| self.in_flight.may_begin(tables.place_of(source));
            let table = self.tables_to_read.pop(tables, may_read)?;
            if !self.put_off(tables, allocation, table, now) {
                return Some(table);
            }
        }
    }

    /// Whether the table is not to be read now, because reads of it or of its source fail. Then it is tried later.
    fn put_off(&mut self, tables: &mut Tables, allocation: &Allocation, table: u32, now: Instant) -> bool {
        let Some(known) = tables.get(table) else { return false };
        let source = known.source;
        if !known.queue_link.has_failed() && !self.failing.is_out(source) {
            return false;
        }
        // One that has all its units by now does not fail.
        if lacking_segment(tables, allocation, table).is_some() {
            if let Some(known) = tables.get_mut(table) {
                known.queue_link.set_failed(true);
            }
            self.failing.push(tables, table, source, now);
        }
        true
    }

    /// A read of the table failed. `is_fault`: it may fail for others of its source too. `true` if it is the first fault of the source.
    pub(crate) fn count_failure(
        &mut self,
        tables: &mut Tables,
        table: u32,
        is_fault: bool,
        now: Instant,
    ) -> bool {
        let Some(known) = tables.get_mut(table) else { return false };
        known.queue_link.set_failed(true);
        let source = known.source;
        let is_first = self.failing.count_failure(source, is_fault, now);
        self.failing.push(tables, table, source, now);
        is_first
    }

    /// A read of the table succeeded. `true` if reads of its source failed, and do no more.
    pub(crate) fn count_success(&mut self, tables: &mut Tables, table: u32, now: Instant) -> bool {
        let Some(known) = tables.get_mut(table) else { return false };
        let had_failed = known.queue_link.has_failed();
        known.queue_link.set_failed(false);
        self.failing.count_success(known.source, had_failed, now)
    }

    /// Forgets a table, which is still known. O(tables to read and failing ones).
    pub(crate) fn remove_table(&mut self, tables: &mut Tables, table: u32) {
        self.segments.retain(|segment| segment.table != table);
        self.segments.shrink_to(list_places(self.segments.len()));
        self.in_flight.forget_table(table);
        if !self.tables_to_read.remove(tables, table) {
            self.failing.remove(tables, table);
        }
    }
}
