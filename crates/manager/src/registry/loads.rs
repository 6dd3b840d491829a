//! Both ends of a load: which unit to read next, and taking in what was read.

use std::sync::Arc;
use std::time::Instant;

use springbloom_filter::{GroupShape, MAX_UNITS};

use super::Registry;
use super::residents::LoadBy;
use super::table::Table;
use crate::budget::{MemoryBudget, MemoryKind, Reservation};
use crate::lookup::group_cell::GroupCell;
use crate::memory::group_bytes;
use crate::names::SegmentRef;
use crate::plan::SegmentState;
use crate::unit_source::{TableUnits, UnitReadError, UnitSource};

/// After a read that found no room, units of that table are not asked for during so many visits (to any segment).
const BACKOFF_VISITS: u64 = 4096;
/// Most segments of a table whose units are read as a row.
const ROW_SEGMENTS_MAX: usize = 4096;
/// One part in so many of the plan may stay free for copies of groups.
const COPY_PARTS: usize = 64;
/// Each load releases one part in so many of the headroom beyond that.
const HEADROOM_LOADS: usize = 8;

/// A table whose units are to be read.
pub(crate) struct TableToRead {
    pub source: Arc<dyn UnitSource>,
    locator: Box<[u8]>,
    pub shapes: Box<[GroupShape]>,
}

impl TableToRead {
    pub(crate) fn units(&self) -> TableUnits<'_> {
        TableUnits { locator: &self.locator, shapes: &self.shapes }
    }

    pub(crate) fn read_unit(&self, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        self.source.read_unit(self.units(), segment, unit)
    }
}

/// A segment that lacks units.
pub(crate) struct Wanted {
    pub segment: SegmentRef,
    generation: u32,
    /// Resident units, and so the number of the next one.
    pub resident: u8,
    /// Planned units.
    pub units: u8,
    /// Rows to read, from the wanted unit on: the table lacks at least half of their units, and of the last row's. 0: read one unit.
    pub rows: u8,
    /// It stands for a noted table. No other read for that table begins before this one is over.
    is_for_table: bool,
    pub table: TableToRead,
}

impl Wanted {
    pub(crate) fn shape(&self) -> GroupShape {
        self.table.shapes[self.segment.segment as usize]
    }
}

/// What was read of a segment.
#[derive(Default)]
pub(crate) struct LoadedUnits {
    /// The wanted unit and those that follow it.
    pub units: Vec<Vec<u8>>,
    /// Why there are not more.
    pub error: Option<UnitReadError>,
}

/// What was read for a [`Wanted`].
pub(crate) struct Loaded {
    pub wanted: Wanted,
    pub is_row: bool,
    /// Of the wanted segment, or of each segment of the rows.
    pub segments: Vec<(u32, LoadedUnits)>,
    /// Why a row ended early.
    pub broke_off: Option<UnitReadError>,
    /// For the bytes of the units.
    pub buffer: Reservation,
    /// For the group that will hold the unit; rows reserve group by group.
    pub group: Option<Reservation>,
}

/// Units of a segment.
#[derive(Clone, Copy)]
struct SegmentUnits {
    resident: u8,
    planned: u8,
}

impl SegmentUnits {
    fn are_lacking(self) -> bool {
        self.resident < self.planned
    }
}

/// How many rows of a table's segments to read together, from the unit `first` on; 0 if it lacks too little of them.
fn rows_worth_reading(segments: &[SegmentUnits], first: u8) -> u8 {
    if segments.len() > ROW_SEGMENTS_MAX {
        return 0;
    }
    // Segments whose lacking units begin at a row, less those whose lacking units end before it.
    let mut changes = [0i32; MAX_UNITS as usize + 1];
    for units in segments.iter().filter(|units| units.are_lacking()) {
        changes[usize::from(units.resident)] += 1;
        changes[usize::from(units.planned)] -= 1;
    }
    let segments = segments.len() as i32;
    let (mut rows, mut lack_row, mut lacking_units) = (0, 0, 0);
    for (row, change) in (1..).zip(&changes[usize::from(first)..]) {
        lack_row += change;
        lacking_units += lack_row;
        if lack_row * 2 >= segments && lacking_units * 2 >= segments * row {
            rows = row;
        }
    }
    // One unit of one segment is read as fast by itself.
    let is_worth_it = rows * segments > 1;
    if is_worth_it { rows as u8 } else { 0 }
}

/// An error with what is behind it.
fn causes(error: &UnitReadError) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

impl Registry {
    /// The unit to read next.
    pub(crate) fn next_wanted(&mut self) -> Option<Wanted> {
        let now = Instant::now();
        loop {
            let (segment, rows, is_for_table) = if let Some(segment) = self.loads.pop_segment() {
                if self.loads.put_off(&mut self.tables, segment.table, now)
                    || self.comes_with_its_table(segment.table)
                {
                    continue;
                }
                (segment, 0, false)
            } else {
                let table = self.loads.pop_table(&mut self.tables, now)?;
                let Some((segment, rows)) = self.lacking_segment(table) else { continue };
                (segment, rows, true)
            };
            if let Some(wanted) = self.wanted(segment, rows, is_for_table) {
                return Some(wanted);
            }
        }
    }

    /// How many reads may be waiting, `most` at most.
    pub(crate) fn wanted_loads(&self, most: usize) -> usize {
        self.loads.noted(&self.tables, most)
    }

    /// Whether a noted table is about to be read in rows, which have the units of all its segments. One by one they would take many reads.
    fn comes_with_its_table(&self, table: u32) -> bool {
        let is_noted = self.tables.get(table as usize).and_then(Option::as_ref).is_some_and(Table::is_noted);
        is_noted && self.lacking_segment(table).is_some_and(|(_, rows)| rows > 0)
    }

    /// The segment of the table that lacks the lowest unit, and how many rows should be read from that unit on.
    fn lacking_segment(&self, table: u32) -> Option<(SegmentRef, u8)> {
        let cells = self.tables.get(table as usize)?.as_ref()?.open.cells();
        let planned = self.planner.allocation().table(table).iter().map(SegmentState::units);
        let units =
            |(cell, planned): (&GroupCell, u8)| SegmentUnits { resident: cell.resident_units(), planned };
        let segments: Vec<_> = cells.iter().zip(planned).map(units).collect();
        let lacking = (0..).zip(&segments).filter(|(_, units)| units.are_lacking());
        let (segment, first) = lacking.min_by_key(|(_, units)| units.resident)?;
        Some((SegmentRef { table, segment }, rows_worth_reading(&segments, first.resident)))
    }

    fn wanted(&self, segment: SegmentRef, rows: u8, is_for_table: bool) -> Option<Wanted> {
        let known = self.tables.get(segment.table as usize)?.as_ref()?;
        let source = self.sources.get(known.source)?.clone();
        let states = self.planner.allocation().table(segment.table);
        let resident = known.open.resident_units(segment.segment);
        let state = states.get(segment.segment as usize).filter(|state| resident < state.units())?;
        let shapes = states.iter().map(|state| state.shape).collect();
        Some(Wanted {
            segment,
            generation: known.open.generation(),
            resident,
            units: state.units(),
            rows,
            is_for_table,
            table: TableToRead { source, locator: known.open.locator().into(), shapes },
        })
    }

    pub(crate) fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// Keeps more bytes free, because a read did not fit. `false` if that would be much of the budget: the segment does without.
    pub(crate) fn make_headroom(&mut self, segment: SegmentRef, bytes: usize) -> bool {
        let planned = self.planner.allocation().unit_budget_bytes();
        if bytes > self.headroom_bytes && bytes > (planned + self.headroom_bytes) / 4 {
            let resident = self.resident_units(segment);
            self.planner.withdraw(segment, resident, BACKOFF_VISITS);
            self.apply_plan(LoadBy::Table);
            self.queue_table(segment.table); // others of its segments may lack units
            return false;
        }
        self.headroom_bytes = self.headroom_bytes.max(bytes);
        self.fit(0);
        self.queue_table(segment.table);
        true
    }

    /// Takes in what was read, and what failed.
    pub(crate) fn take_in_units(&mut self, loaded: Loaded) {
        let Loaded { wanted, is_row, segments, broke_off, buffer, mut group } = loaded;
        if segments.iter().any(|(_, read)| !read.units.is_empty()) {
            self.count_success(&wanted);
        }
        for (segment, LoadedUnits { units, error }) in segments {
            let segment = SegmentRef { segment, ..wanted.segment };
            // A row also has units that the segment has already.
            let Some(resident) = self.resident_of(&wanted, segment) else { continue };
            let known = resident.checked_sub(wanted.resident).filter(|&known| is_row || known == 0);
            let Some(news) = known.and_then(|known| units.get(known.into()..)) else { continue };
            self.install(segment, resident, news, &mut group, !is_row);
            if let Some(error) = error {
                self.fail(&wanted, segment, wanted.resident + units.len() as u8, error);
            }
        }
        self.finish_load(&wanted, buffer.bytes(), broke_off);
    }

    /// Units that the segment has, if its table is still the very one.
    fn resident_of(&self, wanted: &Wanted, segment: SegmentRef) -> Option<u8> {
        let known = self.tables.get(segment.table as usize)?.as_ref()?;
        let is_same = known.open.generation() == wanted.generation;
        is_same.then(|| known.open.resident_units(segment.segment))
    }

    /// Adds the units that are still planned to a segment with `resident` units.
    fn install(
        &mut self,
        segment: SegmentRef,
        resident: u8,
        units: &[Vec<u8>],
        group: &mut Option<Reservation>,
        by_segment: bool,
    ) {
        let state = &self.planner.allocation().segments()[segment];
        let added = units.len().min(state.units().saturating_sub(resident).into());
        if added == 0 {
            return;
        }
        let (units, count) = (&units[..added], resident + added as u8);
        let group_bytes = group_bytes(state.shape, count);
        let reserved = group.take().or_else(|| self.budget.try_reserve(MemoryKind::Loading, group_bytes));
        let Some(reservation) = reserved else { return };
        match self.grow(segment, count, units, reservation) {
            Ok(()) => {
                self.counters.loads += added as u64;
                self.planner.allocation_mut().runs_mut().count_loads(segment.table, added as u64);
                self.counters.load_bytes += units.iter().map(Vec::len).sum::<usize>() as u64;
                if by_segment {
                    self.request_load(segment, LoadBy::Segment);
                }
            }
            Err(error) => self.give_up(segment, resident, &error.to_string()),
        }
    }

    /// Ends a load: counts its reads. Where it broke off, the table has failed.
    fn finish_load(&mut self, wanted: &Wanted, buffer_bytes: usize, broke_off: Option<UnitReadError>) {
        self.counters.load_reads += 1;
        if let Some(error) = broke_off {
            self.count_failure(wanted, &error);
        }
        if wanted.is_for_table && self.is_known(wanted) {
            self.queue_table(wanted.segment.table); // it may lack more
        }
        // Headroom for an unusually large group is given back over time.
        let copies_bytes = (self.planner.allocation().unit_budget_bytes() + self.headroom_bytes) / COPY_PARTS;
        let needed = buffer_bytes.max(copies_bytes);
        self.headroom_bytes -= self.headroom_bytes.saturating_sub(needed).div_ceil(HEADROOM_LOADS);
    }

    fn is_known(&self, wanted: &Wanted) -> bool {
        let known = self.tables.get(wanted.segment.table as usize).and_then(Option::as_ref);
        known.is_some_and(|table| table.open.generation() == wanted.generation)
    }

    /// A unit of the segment could not be read.
    fn fail(&mut self, wanted: &Wanted, segment: SegmentRef, unit: u8, error: UnitReadError) {
        match error {
            UnitReadError::Corrupt(what) => self.give_up(segment, unit, &what),
            error => self.count_failure(wanted, &error),
        }
    }

    /// A unit cannot be used: the segment keeps those before it.
    fn give_up(&mut self, segment: SegmentRef, unit: u8, what: &str) {
        self.notices.warn(format!("a filter unit cannot be used, its segment does without: {what}"));
        self.counters.corrupt_units += 1;
        self.planner.cap_units(segment, unit);
        self.apply_plan(LoadBy::Table);
    }

    /// A read of the table failed. What the plan wants of it stays wanted, and is tried again later.
    fn count_failure(&mut self, wanted: &Wanted, error: &UnitReadError) {
        if !self.is_known(wanted) {
            return;
        }
        // A deleted table fails alone, until the host tells that it is gone.
        let is_fault = !matches!(error, UnitReadError::Gone);
        let table = wanted.segment.table;
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

    fn count_success(&mut self, wanted: &Wanted) {
        if self.is_known(wanted)
            && self.loads.count_success(&mut self.tables, wanted.segment.table, Instant::now())
        {
            self.notices.warn("filter units can be read again".into());
        }
    }
}
