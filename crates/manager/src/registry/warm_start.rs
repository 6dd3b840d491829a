//! Use and units of segments over a restart.
//!
//! Exported counts are in visits made now, because the next manager starts with another weight.

use crate::Hotness;
use crate::SegmentRef;
use crate::registry::Registry;
use crate::{SegmentUse, TableId};

impl Registry {
    /// Use of each segment of a table; `None` if it is not known.
    pub(crate) fn table_use(&self, id: TableId) -> Option<Vec<SegmentUse>> {
        let now = (1.0 / self.planner.weight()) as f32;
        let states = self.planner.table(self.index_of(id)?).iter();
        Some(
            states
                .map(|state| {
                    let mut hotness = state.counts().hotness();
                    hotness.scale(now);
                    SegmentUse { hotness, units: state.units() }
                })
                .collect(),
        )
    }

    /// Hotness that the segments of a warm-started table begin with.
    pub(crate) fn warm_start_hotness(&self, warm_start: &[SegmentUse]) -> Vec<Hotness> {
        let weight = self.planner.weight() as f32;
        let hotness = warm_start.iter().map(|segment| {
            let mut hotness = segment.hotness;
            hotness.scale(weight);
            // As it would be with the units that it has now: none.
            hotness.wasted_reads = hotness.negatives;
            hotness
        });
        hotness.collect()
    }

    /// Gives a segment of a new table the units that it had, as far as there is room; else as the policy sees fit.
    pub(crate) fn restore_units(&mut self, segment: SegmentRef, warm_start: SegmentUse) {
        self.planner.place_units(segment, warm_start.units);
        let weight = self.planner.weight() as f32;
        if self.planner.segment(segment).units() == warm_start.units {
            self.planner.set_wasted_reads(segment, warm_start.hotness.wasted_reads * weight);
        }
    }
}
