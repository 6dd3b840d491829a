//! The registry's part in [replacing a group as a whole](crate::load).

use super::Registry;
use super::loads::Wanted;
use super::residents::LoadBy;
use crate::lookup::group_cell::ResidentGroup;
use crate::memory::group_bytes;
use crate::{MemoryKind, Reservation, UnitReadError};

impl Registry {
    /// A unit of the wanted segment could not be read.
    pub(crate) fn fail_unit(&mut self, wanted: &Wanted, unit: u8, error: UnitReadError) {
        if self.still_wants(wanted, wanted.segment) {
            self.fail(wanted, wanted.segment, unit, error);
        }
    }

    /// Takes the segment's group away. `false` if the segment is not wanted any more.
    pub(crate) fn vacate(&mut self, wanted: &mut Wanted) -> bool {
        let is_wanted = self.still_wants(wanted, wanted.segment)
            && self.planner.segment(wanted.segment).units() >= wanted.units;
        if is_wanted {
            self.clear(wanted.segment);
            wanted.resident = 0;
        }
        is_wanted
    }

    /// Reserves the bytes of the new group, `reserved` among them. `None` while a lookup still probes the old one.
    pub(crate) fn reserve_in_place(
        &mut self,
        wanted: &Wanted,
        reserved: &mut Option<Reservation>,
    ) -> Option<Reservation> {
        self.fit(0);
        *reserved = None;
        self.budget.try_reserve(MemoryKind::Loading, group_bytes(wanted.shape(), wanted.units))
    }

    /// A lookup still holds the old group: the segment's units are read one by one when there is room.
    pub(crate) fn request_again(&mut self, wanted: &Wanted) {
        if self.still_wants(wanted, wanted.segment) {
            self.request_load(wanted.segment, LoadBy::Table);
        }
    }

    /// Puts the new group where lookups find it. If a unit could not be read, the segment keeps no group.
    pub(crate) fn take_in_group(
        &mut self,
        wanted: &Wanted,
        group: ResidentGroup,
        failed: Option<(u8, UnitReadError)>,
    ) {
        let (segment, units) = (wanted.segment, wanted.units);
        if !self.still_wants(wanted, segment) {
            return self.garbage.take_group(Some(group));
        }
        if let Some((unit, error)) = failed {
            self.garbage.take_group(Some(group));
            return self.fail(wanted, segment, unit, error);
        }
        let Some(table) = &self.tables[segment.table as usize] else { return };
        self.garbage.take_group(table.open.cells()[segment.segment as usize].put(group));
        self.counters.loads += u64::from(units);
        self.planner.count_loads(segment.table, u64::from(units));
        self.counters.load_bytes += u64::from(units) * wanted.shape().unit_bytes() as u64;
        self.count_success(wanted);
        let state = self.planner.segment_mut(segment);
        state.resident = units;
        let planned = state.units();
        if planned < units {
            self.evict_to(segment, planned);
        }
        self.request_load(segment, LoadBy::Segment);
    }
}
