//! What is resident, and the plan for it: evicts what is beyond the plan, notes what is to be loaded, takes in what was read, and keeps the
//! plan within what the budget leaves for units.

use std::time::Instant;

use springbloom_filter::GroupShape;

use super::load_queue::{LoadBy, LoadQueue, LoadRequest, LoadResult};
use super::tables::Tables;
use super::{Registry, indexes};
use crate::budget::{MemoryKind, Reservation};
use crate::chore::Chore;
use crate::lookup::TableIndex;
use crate::lookup::group_cell::ResizeError;
use crate::memory::{group_bytes, taken_bytes_of_part};
use crate::names::SegmentRef;
use crate::plan::index_choice::{IndexState, choose};
use crate::unit_source::UnitReadError;

/// After a read that found no room, units of that table are not asked for during this many visits (to any segment).
const BACKOFF_VISITS: u64 = 4096;
/// When the budget shrinks, this many segments change before the mutex is let go of.
const CHANGES_PER_PIECE: usize = 1024;

/// Visits that an index is loaded for, at least, if they were made now.
const VISITS_MIN: f32 = 8.0;

impl Registry {
    /// Bytes of a table without those that lookups share.
    pub(crate) fn table_bytes_beside_shared(&self, segments: usize, has_index: bool) -> usize {
        taken_bytes_of_part(self.planner.table_bytes(segments) + Tables::TABLE_BYTES + self.host_bytes)
            + if has_index { indexes::HOST_BYTES } else { 0 }
    }

    /// Bytes of the lists that have a place for each known segment and `more`, up to a few dozen.
    pub(crate) fn list_bytes(&self, more: usize) -> usize {
        let segments = self.planner.allocation().segment_count() + more;
        self.planner.list_bytes(segments) + LoadQueue::list_bytes(segments)
    }

    /// Units of a segment in memory now; 0 for an unknown one.
    pub(crate) fn resident_units(&self, segment: SegmentRef) -> u8 {
        self.tables.get(segment.table).map_or(0, |table| table.shared.resident_units(segment.segment))
    }

    /// Units that a known segment shall have.
    pub(crate) fn planned_units(&self, segment: SegmentRef) -> u8 {
        self.planner.allocation().segments()[segment].units()
    }

    fn shape(&self, segment: SegmentRef) -> GroupShape {
        self.planner.allocation().segments()[segment].shape
    }

    /// Carries out what the policy decided: evicts at once, notes what is to be loaded. Returns how many segments changed.
    pub(crate) fn apply_plan(&mut self, load_by: LoadBy) -> usize {
        let mut changed = 0;
        while let Some(segment) = self.planner.allocation.take_changed() {
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
    fn request_load(&mut self, segment: SegmentRef, load_by: LoadBy) {
        let is_lacking = self.resident_units(segment) < self.planned_units(segment);
        if is_lacking && (load_by == LoadBy::Table || !self.loads.push_segment(segment)) {
            self.queue_table(segment.table);
        }
    }

    /// Notes that a table may lack units.
    pub(crate) fn queue_table(&mut self, table: u32) {
        self.loads.tables_to_read.push(&mut self.tables, table);
    }

    /// Shrinks the segment's group to its first `units` units. If a lookup holds it, and there is no room for a copy, the segment has no
    /// units until they are read again.
    fn evict_to(&mut self, segment: SegmentRef, units: u8) {
        let Some(table) = self.tables.get(segment.table) else { return };
        let cell = &table.shared.cells()[segment.segment as usize];
        let (shape, resident) = (self.shape(segment), cell.resident_units());
        let freed_bytes = group_bytes(shape, resident) - group_bytes(shape, units);
        let garbage = &mut self.memory.garbage;
        let left = match units {
            1.. if cell.resize(shape, units, &[], |group| garbage.replace(group)).is_ok() => {
                self.memory.budget.release(MemoryKind::Units, freed_bytes);
                units
            }
            _ => {
                self.memory.garbage.take_group(cell.clear());
                0
            }
        };
        self.counters.evictions += u64::from(resident - left);
    }

    /// A bounded piece of the policy's own work. `false` if there was none.
    pub(crate) fn rebalance(&mut self) -> bool {
        let worked = self.planner.policy.rebalance(&mut self.planner.allocation);
        self.apply_plan(LoadBy::Table);
        worked
    }

    /// Gives some free bytes to units of which nothing is measured. `false` if there was nothing to give.
    pub(crate) fn fill(&mut self) -> bool {
        let worked = self.planner.policy.fill(&mut self.planner.allocation);
        self.apply_plan(LoadBy::Table);
        worked
    }

    /// Brings the plan under what the budget leaves for units, `spare_bytes` less, and evicts what is over.
    pub(crate) fn fit(&mut self, spare_bytes: usize) {
        self.fit_plan_budget(spare_bytes);
        while self.planner.shrink_step() {
            self.apply_plan(LoadBy::Table);
        }
    }

    /// A piece of [`fit`](Self::fit) without spare bytes, so that others do not wait long for the mutex. Returns whether there is more to
    /// do.
    pub(crate) fn fit_piece(&mut self) -> bool {
        self.fit_plan_budget(0);
        let mut changed = 0;
        while changed < CHANGES_PER_PIECE {
            if !self.planner.shrink_step() {
                return false;
            }
            changed += self.apply_plan(LoadBy::Table).max(1);
        }
        true
    }

    fn fit_plan_budget(&mut self, spare_bytes: usize) {
        self.tables.collect();
        self.memory.collect();
        let tables = &self.tables;
        self.indexes.fit(indexes::most_bytes(&self.memory), |slot| tables.index(slot));
        // What a read holds that hangs is free for nobody.
        let taken_bytes = spare_bytes + self.loads.in_flight.late_bytes();
        let unit_budget_bytes = self.memory.unit_budget_bytes().saturating_sub(taken_bytes);
        self.planner.allocation.set_unit_budget_bytes(unit_budget_bytes);
    }

    /// Takes bytes of the budget for bookkeeping, and evicts units for them. A new table's first few units take `few_units_bytes`.
    pub(crate) fn reserve(&mut self, bytes: usize, few_units_bytes: usize) -> Option<Reservation> {
        let few_units_bytes = self.planner.allocation().few_units_bytes() + few_units_bytes;
        if bytes > 0 && !self.memory.has_share_for(bytes, few_units_bytes) {
            return None;
        }
        self.reserve_of(MemoryKind::Bookkeeping, bytes)
    }

    fn reserve_of(&mut self, kind: MemoryKind, bytes: usize) -> Option<Reservation> {
        let mut reservation = self.memory.budget.try_reserve(kind, bytes);
        if reservation.is_none() {
            self.fit(bytes);
            reservation = self.memory.budget.try_reserve(kind, bytes);
        }
        self.fit(0);
        reservation
    }

    /// Chooses which indexes are resident, now and then, and has them read. O(tables).
    pub(crate) fn plan_indexes(&mut self) {
        if !self.indexes.is_due() {
            return;
        }
        let begun = Instant::now();
        let Self { planner, tables, indexes, memory, counters, .. } = self;
        counters.failed_reads += indexes.note_failures(begun, tables.indexes());
        let allocation = planner.allocation();
        let evidence = VISITS_MIN * allocation.weight();
        let state = |(slot, index): (u32, &TableIndex)| {
            let (passing, bytes) = (allocation.passing(slot), index.bytes());
            let is_open = || tables.get(slot).is_some_and(|table| !table.shared.is_closed());
            IndexState {
                slot,
                bytes,
                worth: passing / bytes as f32,
                is_planned: index.is_planned(),
                is_loadable: indexes.may_be_read(slot) && passing >= evidence && is_open(),
            }
        };
        let mut states: Vec<_> = tables.indexes().map(state).collect();
        let (most, step) = (indexes::most_bytes(memory), memory.budget_bytes() / indexes::STEP_PARTS);
        let choice = choose(&mut states, planner.policy.least_worth(), most, step);
        for slot in choice.evicted {
            tables.index(slot).into_iter().for_each(|index| indexes.evict(slot, index));
        }
        choice.loaded.iter().for_each(|&slot| _ = self.read_index(slot));
        let is_planned = |slot| self.tables.index(slot).is_some_and(TableIndex::is_planned);
        let planned = states.iter().map(|state| state.slot).filter(|&slot| is_planned(slot)).collect();
        self.indexes.end_look(begun, planned);
    }

    /// Has an index read, if there is room.
    fn read_index(&mut self, slot: u32) -> Option<()> {
        let bytes = self.tables.index(slot)?.bytes();
        let reservation = self.reserve_of(MemoryKind::Indexes, bytes)?;
        let table = self.tables.get(slot)?;
        let (source, place) = (self.tables.source_of(table)?.clone(), self.tables.place_of(table.source));
        let shared = table.shared.clone();
        shared.index()?.plan();
        self.counters.load_reads += 1;
        let read = move || indexes::read(&*source, &shared, reservation);
        self.loads.chores.push_back(Chore::new(place, read));
        Some(())
    }

    /// Whether units are to be read now.
    pub(crate) fn has_reads(&mut self) -> bool {
        if self.corrupt_units.is_due(Instant::now()) {
            self.want_corrupt_units_again();
        }
        self.loads.has_reads(&self.tables)
    }

    /// The units to read next.
    pub(crate) fn next_request(&mut self) -> Option<LoadRequest> {
        self.loads.next_request(&mut self.tables, self.planner.allocation())
    }

    /// Keeps more bytes free, because a read did not fit. `false` if that would be much of the budget.
    pub(crate) fn make_headroom(&mut self, bytes: usize) -> bool {
        let makes_room = self.memory.make_headroom(bytes, self.planner.allocation().unit_budget_bytes());
        if makes_room {
            self.fit(0);
        }
        makes_room
    }

    /// There will be no room for the units that the segment lacks: it does without for a while.
    pub(crate) fn give_up_lacking(&mut self, segment: SegmentRef) {
        self.planner.withdraw(segment, self.resident_units(segment), BACKOFF_VISITS);
        self.apply_plan(LoadBy::Table);
        self.queue_table(segment.table); // others of its segments may lack units
    }

    /// Takes in what was read, and what failed.
    pub(crate) fn take_in_units(&mut self, result: LoadResult) {
        let LoadResult { request, is_row, units: mut read, broke_off, buffer } = result;
        self.counters.load_reads += 1;
        if !read.are_none() {
            self.count_success(&request);
        }
        let first = if is_row { 0 } else { request.segment.segment };
        for at in 0..read.segments() {
            if !self.is_known(&request) {
                break;
            }
            let error = read.take_error(at);
            let units = read.of(at);
            let segment = SegmentRef { segment: first + at, ..request.segment };
            let resident = self.resident_units(segment);
            // A row also has units that the segment has already.
            let known = resident.checked_sub(request.resident).filter(|&known| is_row || known == 0);
            let Some(news) = known.and_then(|known| units.get(known.into()..)) else { continue };
            self.install(segment, resident, news, !is_row);
            if let Some(error) = error {
                self.fail(&request, segment, request.resident + units.len() as u8, error);
            }
        }
        self.finish_load(&request, buffer.bytes(), broke_off);
    }

    /// Adds the units that are still planned to a segment with `resident` units.
    fn install(&mut self, segment: SegmentRef, resident: u8, units: &[&[u8]], by_segment: bool) {
        let added = units.len().min(self.planned_units(segment).saturating_sub(resident).into());
        if added == 0 {
            return;
        }
        let (shape, count) = (self.shape(segment), resident + added as u8);
        let grown_bytes = group_bytes(shape, count) - group_bytes(shape, resident);
        let Some(table) = self.tables.get(segment.table) else { return };
        let cell = &table.shared.cells()[segment.segment as usize];
        let Some(reservation) = self.memory.budget.try_reserve(MemoryKind::Loading, grown_bytes) else {
            // The host took the room meanwhile.
            return self.queue_table(segment.table);
        };
        let garbage = &mut self.memory.garbage;
        match cell.resize(shape, count, &units[..added], |group| garbage.replace(group)) {
            Ok(()) => {
                reservation.forget(MemoryKind::Units);
                self.counters.loads += added as u64;
                self.planner.allocation.runs.count_loads(segment.table, added as u64);
                self.counters.load_bytes += (added * shape.unit_bytes()) as u64;
                if by_segment {
                    self.request_load(segment, LoadBy::Segment);
                }
            }
            // Read again at once, they would find no room again.
            Err(ResizeError::IsProbed) => self.give_up_lacking(segment),
            Err(ResizeError::Units(error)) => self.give_up(segment, resident, &error.to_string()),
        }
    }

    /// Ends a load. Where it broke off, the table has failed.
    fn finish_load(&mut self, request: &LoadRequest, buffer_bytes: usize, broke_off: Option<UnitReadError>) {
        if let Some(error) = broke_off {
            self.count_failure(request, &error);
        }
        if request.is_for_table && self.is_known(request) {
            self.queue_table(request.segment.table); // it may lack more
        }
        let unit_budget_bytes = self.planner.allocation().unit_budget_bytes();
        self.memory.give_back_headroom(buffer_bytes, unit_budget_bytes);
    }

    /// Whether the table is still the very one that the request was for.
    fn is_known(&self, request: &LoadRequest) -> bool {
        self.tables.get_registered(request.segment.table, request.generation).is_some()
    }

    /// A unit of the segment could not be read.
    fn fail(&mut self, request: &LoadRequest, segment: SegmentRef, unit: u8, error: UnitReadError) {
        match error {
            UnitReadError::Corrupt(what) => self.give_up(segment, unit, &what),
            error => self.count_failure(request, &error),
        }
    }

    /// A unit cannot be used: for now, the segment keeps those before it.
    fn give_up(&mut self, segment: SegmentRef, unit: u8, what: &str) {
        if self.corrupt_units.note(Instant::now()) {
            self.notices.warn(format!(
                "filter units cannot be used, their segments do without, and they are read again every half minute: {what}"
            ));
        }
        self.counters.corrupt_units += 1;
        self.planner.cap_units(segment, unit);
        self.apply_plan(LoadBy::Table);
    }

    /// Lets the plan have the units that were given up. O(segments), which is less than to keep a list of them all the time.
    fn want_corrupt_units_again(&mut self) {
        let mut next = SegmentRef::FIRST;
        while let Some(segment) = self.planner.allocation().segments().at_or_after(next) {
            next = SegmentRef { segment: segment.segment + 1, ..segment };
            if self.planner.uncap_units(segment) {
                self.apply_plan(LoadBy::Table);
            }
        }
    }

    /// A read of the table failed. What the plan wants of it stays wanted, and is tried again later.
    fn count_failure(&mut self, request: &LoadRequest, error: &UnitReadError) {
        if !self.is_known(request) {
            return;
        }
        // A deleted table fails alone, until the host tells that it is gone.
        let is_fault = !matches!(error, UnitReadError::Gone);
        let table = request.segment.table;
        let is_first = self.loads.count_failure(&mut self.tables, table, is_fault, Instant::now());
        if is_fault {
            self.counters.failed_reads += 1;
            if is_first {
                self.notices.warn(format!(
                    "filter units cannot be read, and are tried again until they can: {}",
                    causes(error)
                ));
            }
        }
    }

    fn count_success(&mut self, request: &LoadRequest) {
        if self.is_known(request)
            && self.loads.count_success(&mut self.tables, request.segment.table, Instant::now())
        {
            self.notices.warn("filter units can be read again".into());
        }
    }
}

/// An error with what is behind it.
fn causes(error: &UnitReadError) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}
