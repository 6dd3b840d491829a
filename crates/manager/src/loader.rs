//! Reading units: jobs are cut out under the registry's mutex, read without it, and taken in under it again.
//!
//! Invariant: a job's bytes (what is read and the group that will hold it) are reserved before anything is read.

use std::sync::Arc;

use crate::allocation::FAILED_READS_MAX;
use crate::memory::allocated_bytes;
use crate::registry::{LoadBy, Registry};
use crate::resident::group_bytes;
use crate::segments::SegmentRef;
use crate::{MemoryKind, Reservation, UnitReadError, UnitSource};

/// Visits (to any segment) after the first failed read before units of that table are asked for again; four times as many
/// after each further failure.
const BACKOFF_TICKS: u64 = 4096;
/// Most segments of a table whose units are read as a row.
const ROW_SEGMENTS_MAX: usize = 4096;

/// One read to make.
pub(crate) struct Job {
    /// The segment, or the first one of a row.
    segment: SegmentRef,
    number: u32,
    unit: u8,
    is_row: bool,
    /// Of the table.
    segments: u32,
    source: Arc<dyn UnitSource>,
    /// For the bytes while they are read.
    _buffer: Reservation,
    /// For the group that will hold the unit; rows reserve group by group.
    group: Option<Reservation>,
}

/// What there is to do.
pub(crate) enum NextJob {
    /// A read.
    Read(Job),
    /// A read, but not before bytes come free that a lookup still holds.
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
                self.note_table(table); // it may lack more
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
        let (source, number) = (known.source.clone(), known.number);
        let segments = known.open.slots().len() as u32;
        let states = self.planner.allocation().segments();
        let state = &states[segment];
        if state.resident >= state.units() {
            return NextJob::None;
        }
        let (shape, unit) = (state.shape, state.resident);
        let job = |buffer, group, is_row| {
            NextJob::Read(Job { segment, number, unit, is_row, segments, source, _buffer: buffer, group })
        };
        if row {
            let row_states = || states.table(segment.table).iter();
            let bytes: usize = row_states().map(|state| state.shape.unit_bytes()).sum();
            // Each group of the row needs its place beside the buffer before the one that it replaces goes; a row that
            // finds no place for one would be read again and again.
            let group_bytes_max =
                row_states().map(|state| group_bytes(state.shape, unit + 1)).max().unwrap_or(0);
            let budget = self.budget.snapshot();
            let is_roomy = budget.limit_bytes - budget.used_bytes >= 2 * bytes + group_bytes_max;
            if let (true, Some(buffer)) = (is_roomy, self.budget.try_reserve(MemoryKind::Loading, bytes)) {
                return job(buffer, None, true);
            }
        }
        let buffer_bytes = allocated_bytes(shape.unit_bytes());
        let group_bytes = group_bytes(shape, unit + 1);
        let buffer = self.budget.try_reserve(MemoryKind::Loading, buffer_bytes);
        let group = self.budget.try_reserve(MemoryKind::Loading, group_bytes);
        match (buffer, group) {
            (Some(buffer), group @ Some(_)) => job(buffer, group, false),
            _ => self.make_headroom(segment, buffer_bytes + group_bytes),
        }
    }

    /// Leaves more room beside the planned units, as a read did not fit; but never much of the budget: then the
    /// segment does without.
    fn make_headroom(&mut self, segment: SegmentRef, bytes: usize) -> NextJob {
        let planned = self.planner.allocation().ceiling_bytes();
        if bytes > self.headroom_bytes && bytes > (planned + self.headroom_bytes) / 4 {
            let resident = self.planner.allocation().segments()[segment].resident;
            self.planner.withdraw(segment, resident, BACKOFF_TICKS);
            self.carry_out(LoadBy::Table);
            return NextJob::None;
        }
        self.headroom_bytes = self.headroom_bytes.max(bytes);
        self.fit(0);
        self.note_table(segment.table);
        NextJob::Blocked
    }

    /// Whether the segment still lacks just this unit of this very table.
    fn still_wants(&self, job: &Job, segment: SegmentRef) -> bool {
        let known = self.tables.get(segment.table as usize).and_then(Option::as_ref);
        known.is_some_and(|known| known.number == job.number)
            && self
                .planner
                .allocation()
                .segments()
                .get(segment)
                .is_some_and(|state| state.resident == job.unit)
    }

    /// Takes in one unit that was read, or that could not be.
    pub(crate) fn complete(&mut self, job: &mut Job, segment: u32, read: Result<&[u8], UnitReadError>) {
        let segment = SegmentRef { table: job.segment.table, segment };
        if !self.still_wants(job, segment) {
            return;
        }
        match read {
            Ok(bytes) => self.install(job, segment, bytes),
            Err(UnitReadError::Corrupt(what)) => self.give_up(segment, &what),
            Err(UnitReadError::Gone) => self.expect_no_more(segment),
            Err(error) => self.put_off(segment, &error),
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
                if !job.is_row {
                    self.ask_for(segment, LoadBy::Segment);
                }
            }
            Err(error) => self.give_up(segment, &error.to_string()),
        }
    }

    fn give_up(&mut self, segment: SegmentRef, what: &str) {
        log::warn!("a filter unit cannot be used, its segment does without: {what}");
        self.counters.corrupt_units += 1;
        let resident = self.planner.allocation().segments()[segment].resident;
        self.planner.cap_units(segment, resident);
        self.carry_out(LoadBy::Table);
    }

    /// The segment's table was deleted: what it has stays until the host says so too.
    fn expect_no_more(&mut self, segment: SegmentRef) {
        let resident = self.planner.allocation().segments()[segment].resident;
        self.planner.cap_units(segment, resident);
        self.carry_out(LoadBy::Table);
    }

    fn put_off(&mut self, segment: SegmentRef, error: &UnitReadError) {
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
        self.carry_out(LoadBy::Table);
    }

    /// The job was carried out; `visited` is what a row that broke off did not get to.
    pub(crate) fn finish(&mut self, job: &Job, row_error: Option<UnitReadError>) {
        self.counters.load_reads += 1;
        let Some(error) = row_error else { return };
        for segment in (0..job.segments).map(|segment| SegmentRef { table: job.segment.table, segment }) {
            if self.still_wants(job, segment)
                && self.planner.allocation().segments()[segment].units() > job.unit
            {
                match error {
                    UnitReadError::Gone => self.expect_no_more(segment),
                    _ => self.put_off(segment, &error),
                }
            }
        }
    }
}

impl Job {
    /// Makes the read, without any lock, and hands each unit to `take`. Gives the error of a row that broke off.
    pub(crate) fn read(
        &mut self,
        mut take: impl FnMut(&mut Job, u32, Result<&[u8], UnitReadError>),
    ) -> Option<UnitReadError> {
        let source = self.source.clone();
        let segment = self.segment.segment;
        if !self.is_row {
            let read = source.read_unit(segment, self.unit);
            match read {
                Ok(bytes) => take(self, segment, Ok(&bytes)),
                Err(error) => take(self, segment, Err(error)),
            }
            return None;
        }
        source.read_row(self.unit, self.segments, &mut |segment, read| take(self, segment, read)).err()
    }
}
