//! Reading units: jobs are cut out under the registry's mutex, read without it, and taken in under it again.
//!
//! A group grows by a copy with one unit more. Where there is no room for two groups, which in a small budget would be too much to
//! keep free, all of a segment's units are read anew into a group that takes the old one's place.
//!
//! Invariant: a job's bytes (what is read and the group that will hold it) are reserved before they are allocated.

use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use springbloom_filter::GroupShape;

use crate::SegmentRef;
use crate::lookup::group_cell::{self, ResidentGroup};
use crate::memory::group_bytes;
use crate::memory::taken_bytes;
use crate::plan::allocation::FAILED_READS_MAX;
use crate::registry::{LoadBy, Registry};
use crate::{BudgetSnapshot, MemoryKind, Reservation, TableUnits, UnitReadError, UnitSource};

/// Visits (to any segment) after the first failed read before units of that table are asked for again; four times as many
/// after each further failure.
const BACKOFF_TICKS: u64 = 4096;
/// Most segments of a table whose units are read as a row.
const ROW_SEGMENTS_MAX: usize = 4096;
/// Share of the plan that is kept free for copies of groups: one part in this.
const COPY_PARTS: usize = 64;
/// Of bytes that are kept free and were not needed, one part in so many comes back with each load.
const HEADROOM_LOADS: usize = 8;
/// Tries to get the bytes of a group that was taken away, and the time between them: a lookup may hold it for one probe.
const VACATING_TRIES: u32 = 1000;
const VACATING_PAUSE: Duration = Duration::from_micros(50);

/// What a job reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// One unit of one segment.
    Unit,
    /// One unit of each segment of a table.
    Row,
    /// All units of a segment up to this one, into a group of their own.
    Group,
}

/// Where units are read.
struct TableToRead {
    source: Arc<dyn UnitSource>,
    locator: Box<[u8]>,
    shapes: Box<[GroupShape]>,
}

impl TableToRead {
    fn units(&self) -> TableUnits<'_> {
        TableUnits { locator: &self.locator, shapes: &self.shapes }
    }

    fn read_unit(&self, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        self.source.read_unit(self.units(), segment, unit)
    }
}

/// One read to make.
pub(crate) struct Job {
    /// The segment, or the first one of a row.
    segment: SegmentRef,
    number: u32,
    unit: u8,
    /// Units that the segments had when the job was cut out.
    resident: u8,
    extent: Extent,
    shape: GroupShape,
    table: Arc<TableToRead>,
    /// For the bytes while they are read.
    buffer: Reservation,
    /// For the group that will hold the unit, or what it takes more than the one before; rows reserve group by group.
    group: Option<Reservation>,
    /// Reads that were made.
    reads: u64,
}

/// What there is to do.
pub(crate) enum NextJob {
    /// A read.
    Read(Job),
    /// A read, but not before bytes come free that somebody still holds: a lookup for the time of one probe, or the host.
    Blocked,
    /// Nothing.
    None,
}

impl Registry {
    /// Cuts out the next read.
    pub(crate) fn next_job(&mut self) -> NextJob {
        loop {
            let (segment, row) = if let Some(segment) = self.loads.pop_segment() {
                (segment, false)
            } else if let Some(table) = self.loads.pop_table(&mut self.tables) {
                let Some(found) = self.wanted_of_table(table) else { continue };
                self.queue_table(table); // it may lack more
                found
            } else {
                return NextJob::None;
            };
            match self.cut_job(segment, row) {
                NextJob::None => continue,
                job => return job,
            }
        }
    }

    /// A segment of the table that lacks units, and whether its unit should be read as part of a row.
    fn wanted_of_table(&self, table: u32) -> Option<(SegmentRef, bool)> {
        self.tables.get(table as usize)?.as_ref()?;
        let states = self.planner.allocation().segments().table(table);
        let segment = states.iter().position(|state| state.resident < state.units())?;
        let unit = states[segment].resident;
        let row = (2..=ROW_SEGMENTS_MAX).contains(&states.len()) && {
            let alike = states.iter().filter(|state| state.resident == unit && state.units() > unit).count();
            alike * 2 >= states.len()
        };
        Some((SegmentRef { table, segment: segment as u32 }, row))
    }

    fn cut_job(&mut self, segment: SegmentRef, row: bool) -> NextJob {
        let Some(known) = self.tables.get(segment.table as usize).and_then(Option::as_ref) else {
            return NextJob::None;
        };
        let Some(source) = self.sources.get(known.source).cloned() else { return NextJob::None };
        let (number, locator) = (known.open.generation(), known.open.locator().into());
        let states = self.planner.allocation().segments();
        let state = &states[segment];
        if state.resident >= state.units() {
            return NextJob::None;
        }
        let (shape, resident, units) = (state.shape, state.resident, state.units());
        let shapes = states.table(segment.table).iter().map(|state| state.shape).collect();
        let table = Arc::new(TableToRead { source, locator, shapes });
        let job = |unit, buffer, group, extent| {
            NextJob::Read(Job {
                segment,
                number,
                unit,
                resident,
                extent,
                shape,
                table,
                buffer,
                group,
                reads: 0,
            })
        };
        if row {
            let row_states = || states.table(segment.table).iter();
            let bytes: usize = row_states().map(|state| state.shape.unit_bytes()).sum();
            // Each group of the row needs its place beside the buffer before the one that it replaces goes; a row that
            // finds no place for one would be read again and again.
            let group_bytes_max =
                row_states().map(|state| group_bytes(state.shape, resident + 1)).max().unwrap_or(0);
            let budget = self.budget.snapshot();
            let is_roomy = budget.budget_bytes - budget.used_bytes >= 2 * bytes + group_bytes_max;
            if let (true, Some(buffer)) = (is_roomy, self.budget.try_reserve(MemoryKind::Loading, bytes)) {
                return job(resident, buffer, None, Extent::Row);
            }
        }
        let buffer_bytes = taken_bytes(shape.unit_bytes());
        let bytes_of = |units| group_bytes(shape, units);
        let budget = self.budget.clone();
        let reserve = |bytes| budget.try_reserve(MemoryKind::Loading, bytes);
        let BudgetSnapshot { budget_bytes, used_bytes } = budget.snapshot();
        // For copies up to the last unit that it lacks.
        let copies_bytes = buffer_bytes + bytes_of(units - 1) - bytes_of(resident) + bytes_of(units);
        if budget_bytes - used_bytes >= copies_bytes
            && let (Some(buffer), group @ Some(_)) = (reserve(buffer_bytes), reserve(bytes_of(resident + 1)))
        {
            return job(resident, buffer, group, Extent::Unit);
        }
        // What the unit itself takes is planned.
        let copy_bytes = buffer_bytes + bytes_of(units - 1);
        if copy_bytes <= self.copies_bytes_max() {
            return self.make_headroom(segment, copy_bytes);
        }
        match (reserve(buffer_bytes), reserve(bytes_of(units) - bytes_of(resident))) {
            (Some(buffer), group @ Some(_)) => job(units - 1, buffer, group, Extent::Group),
            _ => self.make_headroom(segment, buffer_bytes),
        }
    }

    /// Most bytes that are kept free for copies of groups.
    pub(crate) fn copies_bytes_max(&self) -> usize {
        (self.planner.allocation().unit_budget_bytes() + self.headroom_bytes) / COPY_PARTS
    }

    /// Leaves more room beside the planned units, as a read did not fit; but never much of the budget: then the
    /// segment does without.
    fn make_headroom(&mut self, segment: SegmentRef, bytes: usize) -> NextJob {
        let planned = self.planner.allocation().unit_budget_bytes();
        if bytes > self.headroom_bytes && bytes > (planned + self.headroom_bytes) / 4 {
            let resident = self.planner.allocation().segments()[segment].resident;
            self.planner.withdraw(segment, resident, BACKOFF_TICKS);
            self.apply_plan(LoadBy::Table);
            return NextJob::None;
        }
        self.headroom_bytes = self.headroom_bytes.max(bytes);
        self.fit(0);
        self.queue_table(segment.table);
        NextJob::Blocked
    }

    /// Whether the segment still lacks just this unit of this very table.
    fn still_wants(&self, job: &Job, segment: SegmentRef) -> bool {
        let known = self.tables.get(segment.table as usize).and_then(Option::as_ref);
        known.is_some_and(|known| known.open.generation() == job.number)
            && self
                .planner
                .allocation()
                .segments()
                .get(segment)
                .is_some_and(|state| state.resident == job.resident)
    }

    /// Takes in one unit that was read, or that could not be.
    pub(crate) fn complete(&mut self, job: &mut Job, segment: u32, read: Result<&[u8], UnitReadError>) {
        let segment = SegmentRef { table: job.segment.table, segment };
        if !self.still_wants(job, segment) {
            return;
        }
        match read {
            Ok(bytes) => self.install(job, segment, bytes),
            Err(error) => self.fail(segment, job.unit, error),
        }
    }

    /// A unit of the segment could not be had.
    fn fail(&mut self, segment: SegmentRef, unit: u8, error: UnitReadError) {
        match error {
            UnitReadError::Corrupt(what) => self.give_up(segment, unit, &what),
            UnitReadError::Gone => self.cap_units(segment, unit),
            error => self.retry_later(segment, &error),
        }
    }

    fn install(&mut self, job: &mut Job, segment: SegmentRef, bytes: &[u8]) {
        let state = &self.planner.allocation().segments()[segment];
        if state.units() <= job.unit {
            return;
        }
        let shape = state.shape;
        let reserved = job
            .group
            .take()
            .or_else(|| self.budget.try_reserve(MemoryKind::Loading, group_bytes(shape, job.unit + 1)));
        let Some(reservation) = reserved else { return };
        match self.grow(segment, job.unit + 1, bytes, reservation) {
            Ok(()) => {
                self.counters.loads += 1;
                self.counters.load_bytes += bytes.len() as u64;
                self.planner.allocation_mut().state_mut(segment).set_failed_reads(0);
                if job.extent == Extent::Unit {
                    self.request_load(segment, LoadBy::Segment);
                }
            }
            Err(error) => self.give_up(segment, job.unit, &error.to_string()),
        }
    }

    /// Takes the segment's group away for the one that will hold all its units; `false` if that is not wanted any more.
    fn vacate(&mut self, job: &mut Job) -> bool {
        let wanted = self.still_wants(job, job.segment)
            && self.planner.allocation().segments()[job.segment].units() > job.unit;
        if wanted {
            self.clear(job.segment);
            job.resident = 0;
        }
        wanted
    }

    /// The bytes of the group that takes the place of one that was taken away; `None` while a lookup still probes that one.
    fn reserve_in_place(&mut self, job: &mut Job) -> Option<Reservation> {
        self.fit(0);
        job.group = None;
        self.budget.try_reserve(MemoryKind::Loading, group_bytes(job.shape, job.unit + 1))
    }

    /// A lookup does not let go of the group that was taken away: the segment's units are read one by one, when there is room.
    fn put_back(&mut self, job: &Job) {
        if self.still_wants(job, job.segment) {
            self.request_load(job.segment, LoadBy::Table);
        }
    }

    /// Makes a group that was read as a whole the one that lookups find, unless a unit of it could not be had.
    fn put_in(&mut self, job: &Job, group: ResidentGroup, failed: Option<(u8, UnitReadError)>) {
        let segment = job.segment;
        if !self.still_wants(job, segment) {
            return self.garbage.take_group(Some(group));
        }
        if let Some((unit, error)) = failed {
            self.garbage.take_group(Some(group));
            return self.fail(segment, unit, error);
        }
        let units = job.unit + 1;
        let Some(table) = &self.tables[segment.table as usize] else { return };
        self.garbage.take_group(table.open.cells()[segment.segment as usize].put(group));
        self.counters.loads += u64::from(units);
        self.counters.load_bytes += u64::from(units) * job.shape.unit_bytes() as u64;
        let state = self.planner.allocation_mut().state_mut(segment);
        state.resident = units;
        state.set_failed_reads(0);
        let wanted = state.units();
        if wanted < units {
            self.evict_to(segment, wanted);
        }
        self.request_load(segment, LoadBy::Segment);
    }

    /// A unit that can not be used: the segment does with those before it.
    fn give_up(&mut self, segment: SegmentRef, unit: u8, what: &str) {
        log::warn!("a filter unit cannot be used, its segment does without: {what}");
        self.counters.corrupt_units += 1;
        self.cap_units(segment, unit);
    }

    /// There are no units from `unit` on: that one is corrupt, or the table was deleted (and what the segment has stays until the host
    /// says so too).
    fn cap_units(&mut self, segment: SegmentRef, unit: u8) {
        self.planner.cap_units(segment, unit);
        self.apply_plan(LoadBy::Table);
    }

    fn retry_later(&mut self, segment: SegmentRef, error: &UnitReadError) {
        log::debug!("a filter unit could not be read: {error}");
        self.counters.failed_reads += 1;
        let state = self.planner.allocation_mut().state_mut(segment);
        let (failures, resident) = (state.failed_reads() + 1, state.resident);
        state.set_failed_reads(failures);
        if failures >= FAILED_READS_MAX {
            log::warn!("reading filter units failed {failures} times, a segment does without: {error}");
            self.planner.cap_units(segment, resident);
        } else {
            self.planner.withdraw(segment, resident, BACKOFF_TICKS << (2 * (failures - 1)));
        }
        self.apply_plan(LoadBy::Table);
    }

    /// What was kept free for a unit or group larger than most is not kept for ever.
    fn lower_headroom(&mut self, job: &Job) {
        let needed = job.buffer.bytes().max(self.copies_bytes_max());
        self.headroom_bytes -= self.headroom_bytes.saturating_sub(needed).div_ceil(HEADROOM_LOADS);
    }

    /// The job was carried out; `visited` is what a row that broke off did not get to.
    pub(crate) fn finish(&mut self, job: &Job, row_error: Option<UnitReadError>) {
        self.counters.load_reads += job.reads;
        self.lower_headroom(job);
        let Some(error) = row_error else { return };
        for segment in
            (0..job.table.shapes.len() as u32).map(|segment| SegmentRef { table: job.segment.table, segment })
        {
            if self.still_wants(job, segment)
                && self.planner.allocation().segments()[segment].units() > job.unit
            {
                match error {
                    UnitReadError::Gone => self.cap_units(segment, job.unit),
                    _ => self.retry_later(segment, &error),
                }
            }
        }
    }
}

impl Job {
    /// Makes the read, without any lock, and has the registry take in each unit. Gives the error of a row that broke off.
    pub(crate) fn read<'a>(
        &mut self,
        registry: &dyn Fn() -> MutexGuard<'a, Registry>,
    ) -> Option<UnitReadError> {
        let (table, segment, unit) = (self.table.clone(), self.segment.segment, self.unit);
        self.reads = 1;
        match self.extent {
            Extent::Unit => match table.read_unit(segment, unit) {
                Ok(bytes) => registry().complete(self, segment, Ok(&bytes)),
                Err(error) => registry().complete(self, segment, Err(error)),
            },
            Extent::Row => {
                let mut take = |segment: u32, read: Result<&[u8], UnitReadError>| {
                    registry().complete(self, segment, read)
                };
                return table.source.read_row(table.units(), unit, &mut take).err();
            }
            Extent::Group => self.read_group(&table, registry),
        }
        None
    }

    /// The last unit first: the segment keeps those that it has until that one was read.
    fn read_group<'a>(&mut self, table: &TableToRead, registry: &dyn Fn() -> MutexGuard<'a, Registry>) {
        let segment = self.segment.segment;
        let last = match table.read_unit(segment, self.unit) {
            Ok(last) => last,
            Err(error) => return registry().complete(self, segment, Err(error)),
        };
        if !registry().vacate(self) {
            return;
        }
        let mut tries = 0..VACATING_TRIES;
        let reservation = tries.find_map(|_| {
            let reservation = registry().reserve_in_place(self);
            if reservation.is_none() {
                std::thread::sleep(VACATING_PAUSE);
            }
            reservation
        });
        let Some(reservation) = reservation else { return registry().put_back(self) };
        let mut failed = None;
        let group = group_cell::build(self.shape, self.unit + 1, reservation, None, |head, words| {
            let others = (0..self.unit).map(|unit| {
                self.reads += 1;
                (unit, table.read_unit(segment, unit))
            });
            for (unit, read) in std::iter::once((self.unit, Ok(last))).chain(others) {
                let put = read.and_then(|bytes| {
                    let put = head.set_unit(words, unit.into(), &bytes);
                    put.map_err(|error| UnitReadError::Corrupt(error.to_string()))
                });
                if let Err(error) = put {
                    failed = Some((unit, error));
                    break;
                }
            }
            Ok(())
        });
        if let Ok(group) = group {
            registry().put_in(self, group, failed);
        }
    }
}
