//! Who decides which units are resident: one file per policy behind one trait.

mod benefit;
mod fill;
mod lists;
mod monkey;
mod multi_queue;
mod prior;
mod sorted_runs;
mod uniform;
mod victims;

use crate::plan::allocation::Allocation;
use crate::visits::Visit;
use crate::{PolicyKind, SegmentRef};

/// Decides how many units each segment has, by [admitting](Allocation::admit) and [evicting](Allocation::evict) them. Driven by one
/// thread at a time; sees logical time only, so that equal calls give equal decisions.
///
/// A call changes the units of [`changes_max`](Self::changes_max) segments at most: its decisions are carried out before the next one,
/// from a list of that size.
pub trait Policy: Send {
    /// Gives a segment of a new table what its inherited use and the free bytes allow.
    fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation);

    /// A visit that the allocation has just recorded.
    fn on_visit(&mut self, visit: Visit, allocation: &mut Allocation);

    /// Evicts the unit that is worth least, to get under the budget; `false` if there is none.
    fn evict_one(&mut self, allocation: &mut Allocation) -> bool;

    /// Does a bounded piece of work that no single visit asks for; `false` if there was none.
    fn rebalance(&mut self, _allocation: &mut Allocation) -> bool {
        false
    }

    /// Gives some free bytes to units of which nothing is measured, when no more tables come; `false` if there was nothing to give.
    fn fill(&mut self, _allocation: &mut Allocation) -> bool {
        false
    }

    /// A table without allocated units came into the allocation; its segments are placed next.
    fn add_table(&mut self, _table: u32, _allocation: &mut Allocation) {}

    /// A table is about to leave the allocation.
    fn remove_table(&mut self, _table: u32, _allocation: &Allocation) {}

    /// A table moved to another level as it is.
    fn on_level_changed(&mut self) {}

    /// Somebody else changed the segment's allocated units (a read failed).
    fn on_units_changed(&mut self, _segment: SegmentRef, _allocation: &Allocation) {}

    /// All measured use was scaled by this.
    fn on_rescale(&mut self, _factor: f32) {}

    /// Weighted reads per byte that a few bytes of units more or less would save or cost; `None` from a policy that does not rank
    /// units by that.
    fn marginal_value_per_byte(&self) -> Option<f32> {
        None
    }

    /// Most segments whose units one call may change.
    fn changes_max(&self) -> usize {
        CHANGES_MAX
    }

    /// Bytes of the policy's own state for a table of so many segments.
    fn table_bytes(&self, _segments: usize) -> usize {
        0
    }

    /// Bytes of the policy's own state whatever the number of tables.
    fn fixed_bytes(&self) -> usize {
        0
    }

    /// Asserts that the policy's state agrees with the allocation. O(segments).
    #[cfg(test)]
    fn assert_consistent(&self, _allocation: &Allocation) {}
}

/// Most segments whose units one call to a policy may change that moves whole levels.
const CHANGES_MAX: usize = 256;

/// Most units that are evicted to make room for one.
const VICTIMS_MAX: usize = 8;

/// The policy of that kind.
pub(crate) fn build(kind: PolicyKind, lifetime: Option<u64>) -> Box<dyn Policy> {
    match kind {
        PolicyKind::Uniform => Box::new(uniform::new()),
        PolicyKind::Monkey => Box::new(monkey::new()),
        PolicyKind::MultiQueue => Box::new(multi_queue::MultiQueue::new(lifetime)),
        PolicyKind::Benefit => Box::new(benefit::Benefit::new()),
    }
}
