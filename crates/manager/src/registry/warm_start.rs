//! Use and units of segments over a restart.
//!
//! Exported counts are in visits made now, because the next manager starts with another weight.

use crate::names::{SegmentRef, TableId};
use crate::plan::Hotness;
use crate::registry::Registry;
use crate::table_spec::SegmentUse;
use crate::unit_source::KnownTable;

impl Registry {
    /// Use of each segment of a table; `None` if it is not known.
    pub(crate) fn table_use(&self, id: TableId) -> Option<Vec<SegmentUse>> {
        self.index_of(id).map(|slot| self.use_of(slot))
    }

    fn use_of(&self, slot: u32) -> Vec<SegmentUse> {
        let now = (1.0 / self.planner.allocation().decay().weight()) as f32;
        let uses = self.planner.allocation().table(slot).iter().map(|state| {
            let mut hotness = state.counts().hotness();
            hotness.scale(now);
            SegmentUse { hotness, units: state.units() }
        });
        uses.collect()
    }

    /// Shows the tables with these identities, as far as they are known, with the use of each segment.
    pub(crate) fn visit_uses(
        &self,
        tables: &[TableId],
        mut visit: impl FnMut(KnownTable<'_>, Vec<SegmentUse>),
    ) {
        for slot in tables.iter().filter_map(|&id| self.index_of(id)) {
            let known = self.tables[slot as usize].as_ref().and_then(|table| self.as_known(table));
            known.into_iter().for_each(|known| visit(known, self.use_of(slot)));
        }
    }

    /// Hotness that the segments of a warm-started table begin with.
    pub(crate) fn warm_start_hotness(&self, warm_start: &[SegmentUse]) -> Vec<Hotness> {
        let weight = self.planner.allocation().decay().weight() as f32;
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
        let weight = self.planner.allocation().decay().weight() as f32;
        if self.planned_units(segment) == warm_start.units {
            self.planner.allocation_mut().set_wasted_reads(segment, warm_start.hotness.wasted_reads * weight);
        }
    }
}
