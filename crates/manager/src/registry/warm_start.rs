//! Use and units of segments over a restart.
//!
//! Exported counts are in visits made now, because the next manager starts with another weight.

use crate::names::SegmentRef;
use crate::plan::{Allocation, Hotness, Planner};
use crate::table_spec::SegmentUse;

/// Use of each segment of a known table.
pub(super) fn use_of(allocation: &Allocation, table: u32) -> Vec<SegmentUse> {
    let now = (1.0 / allocation.decay.weight) as f32;
    let uses = allocation.table(table).iter().map(|state| {
        let mut hotness = state.hotness();
        hotness.scale(now);
        SegmentUse { hotness, units: state.units() }
    });
    uses.collect()
}

/// Hotness that the segments of a warm-started table begin with.
pub(super) fn first_hotness(allocation: &Allocation, warm_start: &[SegmentUse]) -> Vec<Hotness> {
    let hotness = warm_start.iter().map(|segment| {
        let mut hotness = segment.hotness;
        hotness.scale(allocation.weight());
        // As it would be with the units that it has now: none.
        hotness.wasted_reads = hotness.negatives;
        hotness
    });
    hotness.collect()
}

/// Gives a segment of a new table the units that it had, as far as there is room; else as the policy sees fit.
pub(super) fn restore_units(planner: &mut Planner, segment: SegmentRef, warm_start: SegmentUse) {
    planner.place_units(segment, warm_start.units);
    let weight = planner.allocation().weight();
    if planner.allocation().segments()[segment].units() == warm_start.units {
        planner.allocation.set_wasted_reads(segment, warm_start.hotness.wasted_reads * weight);
    }
}
