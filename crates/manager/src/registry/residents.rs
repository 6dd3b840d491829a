//! Carries out the plan: evicts what is resident beyond it, and notes what is to be loaded.

use springbloom_filter::FilterError;

use super::Registry;
use crate::budget::{MemoryKind, Reservation};
use crate::memory::group_bytes;
use crate::names::SegmentRef;

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
        while let Some(segment) = self.planner.allocation_mut().take_changed() {
            let planned = self.planned_units(segment);
            if self.resident_units(segment) > planned {
                self.evict_to(segment, planned);
            }
            self.request_load(segment, load_by);
            changed += 1;
        }
        changed
    }

    /// Notes that a segment lacks units, if it does.
    pub(super) fn request_load(&mut self, segment: SegmentRef, load_by: LoadBy) {
        let is_lacking = self.resident_units(segment) < self.planned_units(segment);
        if is_lacking && (load_by == LoadBy::Table || !self.loads.push_segment(segment)) {
            self.queue_table(segment.table);
        }
    }

    /// Shrinks the segment's group to its first `units` units. Without room for their copy, the segment has no units until they are read
    /// again.
    fn evict_to(&mut self, segment: SegmentRef, units: u8) {
        let Some(table) = self.tables[segment.table as usize].as_ref() else { return };
        let cell = &table.open.cells()[segment.segment as usize];
        let shape = self.planner.allocation().segments()[segment].shape;
        match self.budget.try_reserve(MemoryKind::Units, group_bytes(shape, units)) {
            Some(reservation) if units > 0 => {
                self.counters.evictions += u64::from(cell.resident_units().saturating_sub(units));
                self.garbage.take_group(cell.shrink(shape, units, reservation));
            }
            _ => self.clear(segment),
        }
    }

    /// Takes all units of the segment away.
    fn clear(&mut self, segment: SegmentRef) {
        let Some(table) = self.tables[segment.table as usize].as_ref() else { return };
        let cell = &table.open.cells()[segment.segment as usize];
        self.counters.evictions += u64::from(cell.resident_units());
        self.garbage.take_group(cell.clear());
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
        let shape = self.planner.allocation().segments()[segment].shape;
        let cell = &table.open.cells()[segment.segment as usize];
        self.garbage.take_group(cell.grow(shape, units, added, reservation)?);
        Ok(())
    }

    /// Units of a segment in memory now; 0 for an unknown one.
    pub(super) fn resident_units(&self, segment: SegmentRef) -> u8 {
        let known = self.tables.get(segment.table as usize).and_then(Option::as_ref);
        known.map_or(0, |table| table.open.resident_units(segment.segment))
    }

    /// Units that a known segment shall have.
    pub(super) fn planned_units(&self, segment: SegmentRef) -> u8 {
        self.planner.allocation().segments()[segment].units()
    }

    /// Notes that a table may lack units.
    pub(super) fn queue_table(&mut self, table: u32) {
        self.loads.push_table(&mut self.tables, table);
    }
}
