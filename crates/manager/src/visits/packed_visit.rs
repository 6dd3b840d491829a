//! A visit in eight bytes.

use super::Outcome;
use crate::names::SegmentRef;

const OUTCOME_BITS: u32 = 3;
const SEGMENT_BITS: u32 = 24;
const TABLE_BITS: u32 = 22;
const GENERATION_BITS: u32 = 15;
const _: () = assert!(OUTCOME_BITS + SEGMENT_BITS + TABLE_BITS + GENERATION_BITS == 64);

/// Most segments of one table.
pub const SEGMENTS_MAX: usize = 1 << SEGMENT_BITS;
/// Most tables at one time.
pub const TABLES_MAX: usize = 1 << TABLE_BITS;

/// Table and generation of an event, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VisitedTable(u64);

impl VisitedTable {
    /// Of the generation its low bits: they distinguish tables that follow one another in the same slot.
    pub(crate) fn new(table: u32, generation: u32) -> Self {
        Self((u64::from(generation) << TABLE_BITS | u64::from(table)) << (SEGMENT_BITS + OUTCOME_BITS))
    }
}

/// One visit in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedVisit(u64);

impl PackedVisit {
    #[inline]
    pub(super) fn new(base: VisitedTable, segment: u32, outcome: Outcome) -> Self {
        Self(base.0 | u64::from(segment) << OUTCOME_BITS | outcome as u64)
    }

    pub(crate) fn segment(self) -> SegmentRef {
        let bits = |from: u32, count: u32| ((self.0 >> from) & ((1 << count) - 1)) as u32;
        SegmentRef {
            table: bits(OUTCOME_BITS + SEGMENT_BITS, TABLE_BITS),
            segment: bits(OUTCOME_BITS, SEGMENT_BITS),
        }
    }

    pub(crate) fn is_of(self, table: VisitedTable) -> bool {
        self.0 >> (SEGMENT_BITS + OUTCOME_BITS) == table.0 >> (SEGMENT_BITS + OUTCOME_BITS)
    }

    pub(crate) fn outcome(self) -> Outcome {
        match self.0 & ((1 << OUTCOME_BITS) - 1) {
            0 => Outcome::Rejected,
            1 => Outcome::WastedRead,
            2 => Outcome::TruePositive,
            3 => Outcome::RejectedByLast,
            _ => Outcome::NotRead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_what_is_put_in() {
        for (table, generation, segment, outcome) in [
            (0, 0, 0, Outcome::Rejected),
            (TABLES_MAX as u32 - 1, u32::MAX, SEGMENTS_MAX as u32 - 1, Outcome::TruePositive),
            (5, 7, 9, Outcome::WastedRead),
            (6, 7, 9, Outcome::RejectedByLast),
            (7, 1 << 20, 9, Outcome::NotRead),
        ] {
            let visited = VisitedTable::new(table, generation);
            let event = PackedVisit::new(visited, segment, outcome);
            assert_eq!(event.segment(), SegmentRef { table, segment });
            assert!(event.is_of(visited) && !event.is_of(VisitedTable::new(table, generation ^ 1)));
            assert_eq!(event.outcome(), outcome);
        }
    }
}
