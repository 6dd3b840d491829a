//! Carries out the plan: evicts what is resident beyond it, and notes what is to be loaded.

use springbloom_filter::FilterError;

use super::Registry;
use crate::memory::group_bytes;
use crate::{MemoryKind, Reservation, SegmentRef};

/// Where a wanted unit is noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadBy {
    /// A lookup wasted a read: soon, the segment alone.
    Segment,
    /// One of many: with its table, in rows.
    Table,
}

impl Registry {
    /// Carries out what the policy decided: evicts at once, notes what is to be loaded. Gives how many segments changed.
    pub(super) fn apply_plan(&mut self, load_by: LoadBy) -> usize {
        let mut changed = 0;
        while let Some(segment) = self.planner.take_changed() {
            let state = self.planner.segment(segment);
            if state.resident > state.units() {
                self.evict_to(segment, state.units());
            }
            self.request_load(segment, load_by);
            changed += 1;
        }
        changed
    }

    /// Notes that a segment lacks units, if it does.
    pub(super) fn request_load(&mut self, segment: SegmentRef, load_by: LoadBy) {
        let state = self.planner.segment(segment);
        if state.resident < state.units() && (load_by == LoadBy::Table || !self.loads.push_segment(segment)) {
            self.queue_table(segment.table);
        }
    }

    /// Shrinks the segment's group to its first `units` units. Without room for their copy, the segment has no units until they are read
    /// again.
    pub(super) fn evict_to(&mut self, segment: SegmentRef, units: u8) {
        let Some(table) = self.tables[segment.table as usize].as_ref() else { return };
        let cell = &table.open.cells()[segment.segment as usize];
        let state = self.planner.segment_mut(segment);
        match self.budget.try_reserve(MemoryKind::Units, group_bytes(state.shape, units)) {
            Some(reservation) if units > 0 => {
                self.garbage.take_group(cell.shrink(state.shape, units, reservation));
                self.counters.evictions += u64::from(state.resident - units);
                state.resident = units;
            }
            _ => self.clear(segment),
        }
    }

    /// Takes all units of the segment away.
    pub(super) fn clear(&mut self, segment: SegmentRef) {
        let Some(table) = self.tables[segment.table as usize].as_ref() else { return };
        self.garbage.take_group(table.open.cells()[segment.segment as usize].clear());
        let resident = &mut self.planner.segment_mut(segment).resident;
        self.counters.evictions += u64::from(std::mem::take(resident));
    }

    /// Adds units to the segment's group, `units` in all.
    pub(super) fn grow(
        &mut self,
        segment: SegmentRef,
        units: u8,
        added: &[Vec<u8>],
        reservation: Reservation,
    ) -> Result<(), FilterError> {
        let Some(table) = &self.tables[segment.table as usize] else { return Ok(()) };
        let state = self.planner.segment_mut(segment);
        let cell = &table.open.cells()[segment.segment as usize];
        self.garbage.take_group(cell.grow(state.shape, units, added, reservation)?);
        state.resident = units;
        Ok(())
    }

    /// Notes that a table may lack units.
    pub(super) fn queue_table(&mut self, table: u32) {
        self.loads.push_table(&mut self.tables, table);
    }
}
