//! What tables cost beside their units, and how much of the budget that may take.

use super::Registry;
use super::identities::Identities;
use super::load_queue::LoadQueue;
use super::negative_cache::CacheMaintenance;
use super::table::Table;
use crate::budget::{MemoryKind, Reservation};
use crate::keys::Fences;
use crate::lookup::ResidentTable;
use crate::memory::{taken_bytes_of_part, thrifty_bytes};
use crate::plan::Planner;
use crate::plan::allocation::few_units_bytes;
use crate::plan::neighbours::Neighbours;
use crate::table_spec::TableSpec;
use crate::visits::{SEGMENTS_MAX, TABLES_MAX};

/// Bytes per table in the registry's own lists.
const TABLE_BYTES: usize =
    thrifty_bytes::<Option<Table>>() + Identities::TABLE_BYTES + Neighbours::TABLE_BYTES;

/// Of a budget that is mostly bookkeeping, one part in so many is left for all else: buffers, copies of groups, the negative cache.
const SPARE_PARTS: usize = 16;

impl Registry {
    /// Bytes of what is kept however few tables there are.
    pub(super) fn fixed_bytes(planner: &Planner) -> usize {
        planner.fixed_bytes() + LoadQueue::FIXED_BYTES + CacheMaintenance::FIXED_BYTES + size_of::<Self>()
    }

    /// Those of them that the budget had no room for.
    pub(super) fn unpaid_fixed_bytes(&self) -> usize {
        if self.fixed_reservation.is_none() { Self::fixed_bytes(&self.planner) } else { 0 }
    }

    /// For a table that is not known yet, and a reader of it.
    pub(super) fn reserve_bookkeeping(&mut self, spec: &TableSpec) -> Option<Reservation> {
        let is_sane = spec.shapes.len() == spec.fences.len() && spec.shapes.len() < SEGMENTS_MAX;
        let slots_left = self.tables.len() < TABLES_MAX || !self.free_indices.is_empty();
        if !is_sane || !slots_left {
            return None;
        }
        if self.fixed_reservation.is_none() {
            // The budget may have grown since the manager was made.
            let fixed_bytes = Self::fixed_bytes(&self.planner);
            self.fixed_reservation = self.budget.try_reserve(MemoryKind::Bookkeeping, fixed_bytes);
        }
        self.fixed_reservation.as_ref()?;
        let open_bytes = ResidentTable::bytes_for(&spec.fences, spec.locator.len());
        let other_bytes = self.table_bytes_beside_open(spec.shapes.len());
        let few_units_bytes = few_units_bytes(spec.shapes.iter().copied());
        self.reserve_share(open_bytes + other_bytes + self.lookups.reader_bytes, few_units_bytes)
    }

    /// Whether a table of one segment and a reader of it would find room.
    pub(crate) fn admits_any(&self) -> bool {
        let fixed_bytes = self.unpaid_fixed_bytes();
        let table_bytes = ResidentTable::bytes_for(&Fences::default(), 0) + self.table_bytes_beside_open(1);
        self.has_share_for(fixed_bytes + table_bytes + self.lookups.reader_bytes, 0)
    }

    /// Whether bookkeeping may take so many bytes more, for segments whose first few units take `few_units_bytes`. Bookkeeping alone saves
    /// no read: half of the budget stays for units, or what the first few of all segments take. They take little where tables are small,
    /// and a table that is not known wastes a read in every lookup.
    fn has_share_for(&self, bytes: usize, few_units_bytes: usize) -> bool {
        let bookkeeping_bytes = self.budget.used_bytes_of(MemoryKind::Bookkeeping) + bytes;
        let least_bytes = bookkeeping_bytes + self.planner.allocation().few_units_bytes() + few_units_bytes;
        let budget_bytes = self.budget_bytes();
        bookkeeping_bytes <= budget_bytes / 2 || least_bytes <= budget_bytes - budget_bytes / SPARE_PARTS
    }

    /// Bytes of a table beside those that lookups share.
    pub(super) fn table_bytes_beside_open(&self, segments: usize) -> usize {
        taken_bytes_of_part(self.planner.table_bytes(segments) + TABLE_BYTES)
    }

    /// Takes bytes of the budget for bookkeeping, and evicts units for them.
    pub(crate) fn reserve(&mut self, bytes: usize) -> Option<Reservation> {
        self.reserve_share(bytes, 0)
    }

    fn reserve_share(&mut self, bytes: usize, few_units_bytes: usize) -> Option<Reservation> {
        if bytes > 0 && !self.has_share_for(bytes, few_units_bytes) {
            return None;
        }
        if let Some(reservation) = self.budget.try_reserve(MemoryKind::Bookkeeping, bytes) {
            self.fit(0);
            return Some(reservation);
        }
        self.fit(bytes);
        let reservation = self.budget.try_reserve(MemoryKind::Bookkeeping, bytes);
        self.fit(0);
        reservation
    }

    /// Reserves bytes that the plan does not need, for first units that wait for their table. They must not take what the policy frees for
    /// units that are to be read.
    pub(crate) fn reserve_for_hand_over(&mut self, bytes: usize) -> Option<Reservation> {
        self.fit(0);
        if self.planner.allocation().free_bytes() < bytes {
            return None;
        }
        let reservation = self.budget.try_reserve(MemoryKind::HandedOver, bytes);
        self.fit(0);
        reservation
    }
}
