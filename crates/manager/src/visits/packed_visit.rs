//! A visit in eight bytes.

use super::Outcome;
use crate::SegmentRef;

const OUTCOME_BITS: u32 = 2;
const SEGMENT_BITS: u32 = 24;
const TABLE_BITS: u32 = 22;
const GENERATION_BITS: u32 = 16;
const _: () = assert!(OUTCOME_BITS + SEGMENT_BITS + TABLE_BITS + GENERATION_BITS == 64);

/// Most segments of one table.
pub(crate) const SEGMENTS_MAX: usize = 1 << SEGMENT_BITS;
/// Most tables at one time.
pub(crate) const TABLES_MAX: usize = 1 << TABLE_BITS;

/// Table and generation of an event, in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VisitedTable(u64);

impl VisitedTable {
    pub(crate) fn new(table: u32, generation: u16) -> Self {
        Self((u64::from(generation) << TABLE_BITS | u64::from(table)) << (SEGMENT_BITS + OUTCOME_BITS))
    }
}

/// One visit in eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedVisit(u64);

impl PackedVisit {
    #[inline]
    pub(super) fn new(base: VisitedTable, segment: u32, outcome: Outcome) -> Self {
        // To the policy a key that is known to be absent is like one that is there: no unit has anything to save.
        let outcome = if outcome == Outcome::KnownAbsent { Outcome::TruePositive } else { outcome };
        Self(base.0 | u64::from(segment) << OUTCOME_BITS | outcome as u64)
    }

    pub(crate) fn segment(self) -> SegmentRef {
        let bits = |from: u32, count: u32| ((self.0 >> from) & ((1 << count) - 1)) as u32;
        SegmentRef {
            table: bits(OUTCOME_BITS + SEGMENT_BITS, TABLE_BITS),
            segment: bits(OUTCOME_BITS, SEGMENT_BITS),
        }
    }

    /// Distinguishes tables that follow one another in the same slot.
    pub(crate) fn generation(self) -> u16 {
        (self.0 >> (64 - GENERATION_BITS)) as u16
    }

    pub(crate) fn outcome(self) -> Outcome {
        match self.0 & 3 {
            0 => Outcome::Rejected,
            1 => Outcome::WastedRead,
            2 => Outcome::TruePositive,
            _ => Outcome::RejectedByLast,
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
            (TABLES_MAX as u32 - 1, u16::MAX, SEGMENTS_MAX as u32 - 1, Outcome::TruePositive),
            (5, 7, 9, Outcome::WastedRead),
            (6, 7, 9, Outcome::RejectedByLast),
        ] {
            let event = PackedVisit::new(VisitedTable::new(table, generation), segment, outcome);
            assert_eq!(event.segment(), SegmentRef { table, segment });
            assert_eq!((event.generation(), event.outcome()), (generation, outcome));
        }
    }
}
