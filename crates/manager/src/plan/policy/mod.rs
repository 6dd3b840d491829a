//! Who decides which units are resident: one file per policy behind one trait.

mod benefit;
mod kind;
mod lists;
mod monkey;
mod multi_queue;
mod sorted_runs;
mod uniform;
mod victims;

pub use kind::PolicyKind;

use crate::SegmentRef;
use crate::plan::allocation::Allocation;
use crate::visits::Visit;

/// Decides. Driven by one thread at a time; sees logical time only, so that equal calls give equal decisions.
///
/// Each call changes the units of a bounded number of segments (at most [`changes_max`](Self::changes_max)), so that decisions can
/// be carried out between calls with a bounded list.
pub(crate) trait AllocationPolicy: Send {
    /// A table with no units allocated came into the allocation.
    fn add_table(&mut self, table: u32, allocation: &mut Allocation);

    /// Gives a segment of a new table what its inherited use and the free bytes allow.
    fn place(&mut self, segment: SegmentRef, allocation: &mut Allocation);

    /// A table is about to leave the allocation.
    fn remove_table(&mut self, table: u32, allocation: &Allocation);

    /// A visit that the allocation has just recorded.
    fn on_access(&mut self, visit: Visit, allocation: &mut Allocation);

    /// Somebody else changed the segment's allocated units (a read failed).
    fn on_units_changed(&mut self, segment: SegmentRef, allocation: &Allocation);

    /// A table moved to another level as it is.
    fn on_level_changed(&mut self) {}

    /// All measured use was scaled by this.
    fn on_rescale(&mut self, factor: f32);

    /// Evicts the unit that is worth least, to get under the ceiling; `false` if there is none.
    fn evict_one(&mut self, allocation: &mut Allocation) -> bool;

    /// Does a bounded piece of work that no single visit asks for; `false` if there was none.
    fn rebalance(&mut self, allocation: &mut Allocation) -> bool;

    /// Weighted reads per byte that units save which a few bytes more or less would let in or out; `None` from a policy that does not
    /// rank units by that.
    fn marginal_value_per_byte(&self) -> Option<f32> {
        None
    }

    /// Most segments whose units one call may change.
    fn changes_max(&self) -> usize {
        CHANGES_MAX
    }

    /// Bytes of the policy's own state for a table of so many segments.
    fn table_bytes(&self, segments: usize) -> usize;

    /// Bytes of the policy's own state whatever the number of tables.
    fn fixed_bytes(&self) -> usize;

    /// Asserts that the policy's state agrees with the allocation. O(segments).
    #[cfg(test)]
    fn assert_consistent(&self, allocation: &Allocation);
}

/// Most segments whose units one call to a policy may change that moves whole levels.
const CHANGES_MAX: usize = 256;

/// Most units that are evicted to make room for one.
const VICTIMS_MAX: usize = 8;

/// The policy of that kind.
pub(crate) fn build(kind: PolicyKind, lifetime: Option<u64>) -> Box<dyn AllocationPolicy> {
    match kind {
        PolicyKind::Uniform => Box::new(uniform::new()),
        PolicyKind::Monkey => Box::new(monkey::new()),
        PolicyKind::MultiQueue => Box::new(multi_queue::MultiQueue::new(lifetime)),
        PolicyKind::Benefit => Box::new(benefit::Benefit::new()),
    }
}
