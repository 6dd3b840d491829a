//! What is to be read next: units that a lookup asked for first, whole tables after.
//!
//! Bounded: single segments wait in a short queue, and when it is full their table is noted instead (once), to be
//! searched for what it lacks. A new table is noted as a whole, so that its rows are found.

use std::collections::VecDeque;

use crate::segments::SegmentRef;

const SEGMENTS_MAX: usize = 256;

/// Where units are wanted.
#[derive(Debug)]
pub(crate) struct LoadQueue {
    segments: VecDeque<SegmentRef>,
    tables: VecDeque<u32>,
}

impl LoadQueue {
    /// Bytes that the queue takes whatever the number of tables.
    pub(crate) const FIXED_BYTES: usize = SEGMENTS_MAX * size_of::<SegmentRef>();

    pub(crate) fn new() -> Self {
        Self { segments: VecDeque::with_capacity(SEGMENTS_MAX), tables: VecDeque::new() }
    }

    /// Notes one unit more for a segment; `false` if there is no place, and the table must be noted.
    pub(crate) fn push_segment(&mut self, segment: SegmentRef) -> bool {
        let has_place = self.segments.len() < SEGMENTS_MAX;
        if has_place {
            self.segments.push_back(segment);
        }
        has_place
    }

    /// Notes a table. The caller sees to it that it is noted once.
    pub(crate) fn push_table(&mut self, table: u32) {
        self.tables.push_back(table);
    }

    pub(crate) fn pop_segment(&mut self) -> Option<SegmentRef> {
        self.segments.pop_front()
    }

    pub(crate) fn pop_table(&mut self) -> Option<u32> {
        self.tables.pop_front()
    }

    pub(crate) fn remove_table(&mut self, table: u32) {
        self.segments.retain(|segment| segment.table != table);
        self.tables.retain(|&noted| noted != table);
    }
}
