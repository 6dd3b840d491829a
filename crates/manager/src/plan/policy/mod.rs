//! Policies decide which units are resident, behind one trait. Springbloom's is [`Benefit`]; experiments bring others.

mod benefit;
mod fill;
mod prior;
mod victims;

pub use benefit::Benefit;

use crate::names::SegmentRef;
use crate::plan::allocation::Allocation;
use crate::visits::Visit;

/// Decides how many units each segment has, by [admitting](Allocation::admit) and [evicting](Allocation::evict) them. One thread at a time
/// calls it. It sees logical time only, so equal calls give equal decisions.
///
/// A call changes at most [`changes_max`](Self::changes_max) segments: the manager carries out its decisions before the next call, from a
/// list of that size.
pub trait Policy: Send {
    /// Admits units for a segment of a new table, as its inherited use and the free bytes allow.
    fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation);

    /// A visit that the allocation has just recorded.
    fn on_visit(&mut self, visit: Visit, allocation: &mut Allocation);

    /// Evicts the unit that is worth least, to come under the budget. Returns `false` if there is none.
    fn evict_one(&mut self, allocation: &mut Allocation) -> bool;

    /// Does a bounded piece of work that belongs to no visit. Returns `false` if there was none.
    fn rebalance(&mut self, _allocation: &mut Allocation) -> bool {
        false
    }

    /// Admits units that nothing was measured of into free bytes, when no more tables come. Returns `false` if there was nothing to do.
    fn fill(&mut self, _allocation: &mut Allocation) -> bool {
        false
    }

    /// A table was added to the allocation, without units; [`place`](Self::place) follows for each of its segments.
    fn add_table(&mut self, _table: u32, _allocation: &mut Allocation) {}

    /// A table is about to leave the allocation.
    fn remove_table(&mut self, _table: u32, _allocation: &Allocation) {}

    /// A table moved to another level without being rewritten.
    fn on_level_changed(&mut self) {}

    /// The manager changed the segment's allocated units, because a read failed.
    fn on_units_changed(&mut self, _segment: SegmentRef, _allocation: &Allocation) {}

    /// All measured use was scaled by this.
    fn on_rescale(&mut self, _factor: f32) {}

    /// The greatest number of segments that one call may change.
    fn changes_max(&self) -> usize;

    /// Bytes of the policy's own state for a table of that many segments.
    fn table_bytes(&self, _segments: usize) -> usize {
        0
    }

    /// Bytes of the policy's own lists for this number of segments; 0 if it has none.
    fn list_bytes(&self, _segments: usize) -> usize {
        0
    }

    /// What units save per byte that would go first, in weighted reads; 0 if nothing is known.
    fn least_worth(&self) -> f32 {
        0.0
    }

    /// Asserts that the policy's state agrees with the allocation. O(segments).
    #[cfg(test)]
    fn assert_consistent(&self, _allocation: &Allocation) {}
}

/// Most units that are evicted to make room for one.
pub const VICTIMS_MAX: usize = 8;
