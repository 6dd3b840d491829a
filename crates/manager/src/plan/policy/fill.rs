//! Gives free bytes to units: memory that is free anyway should save reads.
//!
//! Several passes go over all segments, each with a lower threshold, so that the units that are worth most per byte come first. A unit need
//! not repay its read, because nothing is evicted for it.

use crate::names::SegmentRef;
use crate::plan::allocation::Allocation;

/// Segments that one call looks at.
const SEGMENTS_PER_STEP: usize = 4096;
/// One part in this of the budget for units stays free: for copies of growing groups, and for units that wasted reads ask for.
const FREE_PARTS: usize = 32;
/// Threshold of a pass divided by that of the one before. A unit of one bit is worth half of the one before it: with more than a half, no
/// segment gets two units in a pass, the second of which is worth less than the first of a segment further on.
const THRESHOLD_STEP: f32 = 0.6;

/// State of the passes.
#[derive(Debug)]
pub(super) struct Fill {
    hand: SegmentRef,
    /// Weighted reads per byte that a unit saves if this pass admits it.
    threshold: f32,
    /// The greatest saving per byte of the units that this pass left out.
    best_left: f32,
    /// Bytes of the units that this pass left out.
    left_bytes: usize,
    /// The budget for units when nothing was left to give: every segment had all units, or no unit had room.
    complete_at_bytes: Option<usize>,
}

/// Weighted wasted reads that the next unit would save; 0 if there is none.
pub(super) fn gain(segment: SegmentRef, allocation: &Allocation) -> f32 {
    let state = &allocation.segments()[segment];
    if state.units() < state.units_max() { allocation.wasted(segment) * state.next_share() } else { 0.0 }
}

impl Fill {
    pub(super) fn new() -> Self {
        Self {
            hand: SegmentRef::FIRST,
            threshold: f32::INFINITY,
            best_left: 0.0,
            left_bytes: 0,
            complete_at_bytes: None,
        }
    }

    /// Starts again, because a segment may have a use for free bytes now, or worths have changed.
    pub(super) fn restart(&mut self) {
        *self = Self::new();
    }

    /// Continues a pass until `changes_max` segments changed. Returns `false` if few bytes are free or no unit needs them.
    pub(super) fn step(&mut self, changes_max: usize, allocation: &mut Allocation) -> bool {
        let budget_bytes = allocation.unit_budget_bytes();
        let free_bytes_min = budget_bytes / FREE_PARTS;
        if self.complete_at_bytes.is_some_and(|complete| budget_bytes <= complete + free_bytes_min) {
            return false;
        }
        if allocation.free_bytes() <= free_bytes_min {
            self.restart();
            return false;
        }
        for _ in 0..SEGMENTS_PER_STEP {
            let Some(segment) = allocation.segments().at_or_after(self.hand) else {
                self.end_pass(budget_bytes, allocation.free_bytes());
                break;
            };
            self.hand = SegmentRef { segment: segment.segment + 1, ..segment };
            if self.threshold == 0.0 {
                allocation.admit_all(segment); // whatever they are worth
            }
            while let Some(bytes) = allocation.admissible_bytes(segment) {
                let worth = gain(segment, allocation) / bytes.max(1) as f32;
                if worth < self.threshold {
                    self.best_left = self.best_left.max(worth);
                    self.left_bytes += allocation.segments()[segment].lacking_bytes();
                    break;
                }
                if !allocation.admit(segment) {
                    break;
                }
            }
            if allocation.changed().len() >= changes_max {
                break;
            }
        }
        true
    }

    /// Scales the threshold, as all worths were scaled.
    pub(super) fn scale(&mut self, factor: f32) {
        self.threshold *= factor;
        self.best_left *= factor;
    }

    fn end_pass(&mut self, budget_bytes: usize, free_bytes: usize) {
        self.hand = SegmentRef::FIRST;
        self.complete_at_bytes = (self.threshold == 0.0).then_some(budget_bytes);
        self.threshold = std::mem::take(&mut self.best_left) * THRESHOLD_STEP;
        if std::mem::take(&mut self.left_bytes) <= free_bytes {
            self.threshold = 0.0; // all of them fit, so their order does not matter
        }
    }
}

#[cfg(test)]
mod tests {
    use springbloom_filter::{KeyDigest, UnitSettings};

    use super::*;
    use crate::memory::group_bytes;
    use crate::names::ScopeId;
    use crate::plan::{Hotness, Run};

    #[test]
    fn segments_of_equal_worth_get_equal_units() {
        let digests: Vec<_> = (0..1000u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let shape = UnitSettings::default().build(&digests).shape;
        let mut allocation = Allocation::new(None);
        let run = Run { scope: ScopeId(1), level: Some(3) };
        let segments = vec![(shape, Hotness::default()); 256];
        let half_more = group_bytes(shape, 4).midpoint(group_bytes(shape, 3));
        allocation.set_unit_budget_bytes(half_more * segments.len());
        allocation.add_table(0, run, segments.into_iter());
        allocation.assume_lookups(0, 1e6);
        let mut fill = Fill::new();
        while fill.step(64, &mut allocation) {}
        let (least, most) = allocation
            .table(0)
            .iter()
            .map(|state| state.units())
            .fold((u8::MAX, 0), |(least, most), units| (least.min(units), most.max(units)));
        // Three and four, or five where the allocator's rounding makes the fifth cheaper than the fourth.
        assert_eq!(least, 3, "the most is {most}");
        assert!((4..=5).contains(&most), "{most}");
    }
}
