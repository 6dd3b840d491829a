//! Which units to read next: first segments with a wasted read, then whole tables.
//!
//! The queue is short. When it is full, a segment's table is noted instead, once, and searched later for units that it lacks. A new table
//! is noted as a whole, so that it is read in rows. Noted tables are linked through the registry's own entries.

use std::collections::VecDeque;

use super::table::{QueueLink, Table};
use crate::SegmentRef;

const SEGMENTS_MAX: usize = 64;

/// Where units are wanted.
#[derive(Debug)]
pub(super) struct LoadQueue {
    segments: VecDeque<SegmentRef>,
    /// [`QueueLink::LAST`] if none is noted.
    first_table: QueueLink,
    last_table: u32,
}

fn queue_link(tables: &mut [Option<Table>], table: u32) -> Option<&mut QueueLink> {
    tables.get_mut(table as usize)?.as_mut().map(|table| &mut table.queue_link)
}

impl LoadQueue {
    /// Bytes that the queue takes whatever the number of tables.
    pub(super) const FIXED_BYTES: usize = SEGMENTS_MAX * size_of::<SegmentRef>();

    pub(super) fn new() -> Self {
        Self { segments: VecDeque::with_capacity(SEGMENTS_MAX), first_table: QueueLink::LAST, last_table: 0 }
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
        let QueueLink(first) = self.first_table;
        let next = |&table: &u32| tables.get(table as usize)?.as_ref().map(|table| table.queue_link.0);
        let noted_tables =
            std::iter::successors(Some(first), next).filter(|&table| (table as usize) < tables.len());
        (self.segments.len() + noted_tables.take(most).count()).min(most)
    }

    /// Notes a table, if it is known and not noted yet.
    pub(super) fn push_table(&mut self, tables: &mut [Option<Table>], table: u32) {
        let Some(place) = queue_link(tables, table).filter(|place| **place == QueueLink::NOT) else { return };
        *place = QueueLink::LAST;
        if self.first_table == QueueLink::LAST {
            self.first_table = QueueLink(table);
        } else if let Some(last) = queue_link(tables, self.last_table) {
            *last = QueueLink(table);
        }
        self.last_table = table;
    }

    /// Takes out the table that was noted first.
    pub(super) fn pop_table(&mut self, tables: &mut [Option<Table>]) -> Option<u32> {
        let QueueLink(first) = self.first_table;
        let place = queue_link(tables, first)?;
        self.first_table = std::mem::replace(place, QueueLink::NOT);
        Some(first)
    }

    /// Forgets a table, which is still known. O(noted tables).
    pub(super) fn remove_table(&mut self, tables: &mut [Option<Table>], table: u32) {
        self.segments.retain(|segment| segment.table != table);
        let Some(place) = queue_link(tables, table).filter(|place| **place != QueueLink::NOT) else { return };
        let next = std::mem::replace(place, QueueLink::NOT);
        if self.first_table == QueueLink(table) {
            self.first_table = next;
            return;
        }
        let QueueLink(mut before) = self.first_table;
        while let Some(place) = queue_link(tables, before) {
            if *place == QueueLink(table) {
                *place = next;
                break;
            }
            before = place.0;
        }
        if self.last_table == table {
            self.last_table = before;
        }
    }
}
