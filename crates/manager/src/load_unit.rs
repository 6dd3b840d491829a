//! A unit's way from disk to memory, from top to bottom:
//!
//! 1. the registry says which unit is wanted most (`next_request`);
//! 2. bytes are reserved for it, or the registry makes room and the load waits (`Job::reserve`);
//! 3. the source reads it, without any lock (`Job::read`);
//! 4. the registry takes in what was read in one call (`take_in_units`): it builds the group that lookups find from then on.
//!
//! A group grows by a copy with one unit more. Where there is no room for both, it makes room and is read again: its segment has no units
//! for a moment, but no part of the budget stays free for copies.
//!
//! Invariant: a job's bytes (what is read and the group that will hold it) are reserved before they are allocated.

use std::panic::{AssertUnwindSafe, catch_unwind};

use springbloom_filter::FilterError;

use crate::budget::{BudgetSnapshot, MemoryKind, Reservation};
use crate::lookup::group_cell::NewGroup;
use crate::memory::group_bytes;
use crate::registry::{LoadRequest, LoadResult, Residency, SegmentUnits, SharedRegistry};
use crate::unit_source::UnitReadError;

/// The largest read of rows. Larger ones are not faster, and the registry's mutex is held while one is taken in.
const ROWS_BYTES_MAX: usize = 1 << 20;

/// How a call of [`load_next`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A read was made.
    Loaded,
    /// There is a read to make, but no room. A lookup holds the bytes for one probe, or the host does.
    Blocked,
    /// Nothing is wanted.
    Idle,
}

/// Makes the read that comes next.
pub(crate) fn load_next(registry: &SharedRegistry) -> Progress {
    let (job, number) = {
        let residency = &mut registry.lock().residency;
        loop {
            let Some(request) = residency.next_request() else { return Progress::Idle };
            match Job::reserve(request, residency) {
                Reserved::Job(job) => {
                    let number = residency.loads.begin_read(&job.request, job.bytes());
                    break (job, number);
                }
                Reserved::Blocked => return Progress::Blocked,
                Reserved::GaveUp => (),
            }
        }
    };
    let table = job.request.segment.table;
    // Dropped after the lock is released: the last share in it may be the job's, and the host's code runs then.
    let _source = job.request.table.source.clone();
    let loaded = job.read();
    let residency = &mut registry.lock().residency;
    let has_waited = residency.loads.end_read(number);
    residency.take_in_units(loaded);
    if has_waited {
        residency.queue_table(table);
    }
    Progress::Loaded
}

/// What a job reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// One unit of one segment.
    Unit,
    /// This many rows of a table: units of each of its segments.
    Rows(u8),
    /// This many units of one segment that has none, from the first on.
    Group(u8),
}

/// A read with the bytes reserved for it.
struct Job {
    request: LoadRequest,
    extent: Extent,
    /// For the units that are read.
    buffer: Reservation,
    /// For the source's own copy of a row.
    copies: Option<Reservation>,
    /// For the new group. Rows reserve group by group.
    group: Option<Reservation>,
}

enum Reserved {
    Job(Job),
    Blocked,
    /// There will be no room. The segment does without the unit for a while.
    GaveUp,
}

impl Job {
    fn reserve(request: LoadRequest, residency: &mut Residency) -> Reserved {
        let budget = residency.memory.budget.clone();
        let reserve = |bytes| budget.try_reserve(MemoryKind::Loading, bytes);
        let LoadRequest { resident, units, .. } = request;
        let shapes = || request.table.shapes.iter();
        let row_bytes: usize = shapes().map(|shape| shape.unit_bytes()).sum();
        let rows_max = request.rows.min((ROWS_BYTES_MAX / row_bytes.max(1)).clamp(1, u8::MAX.into()) as u8);
        for rows in (1..=rows_max).rev() {
            let bytes = row_bytes * usize::from(rows);
            // A group is copied before the old one is freed, in addition to the buffer. If that did not fit, the rows would be read again
            // and again.
            let group_bytes_max =
                shapes().map(|&shape| group_bytes(shape, resident + rows)).max().unwrap_or(0);
            if free_bytes(budget.snapshot()) >= 2 * bytes + group_bytes_max
                && let (Some(buffer), copies @ Some(_)) = (reserve(bytes), reserve(bytes))
            {
                return Reserved::Job(Self {
                    request,
                    extent: Extent::Rows(rows),
                    buffer,
                    copies,
                    group: None,
                });
            }
        }
        let bytes_of = |units| group_bytes(request.shape(), units);
        let (segment, buffer_bytes) = (request.segment, request.buffer_bytes());
        // For the copies up to the last unit that the segment lacks.
        let copies_bytes = buffer_bytes + bytes_of(units - 1) + bytes_of(units) - bytes_of(resident);
        let free_bytes = free_bytes(budget.snapshot());
        let extent = if free_bytes >= copies_bytes {
            Extent::Unit
        } else {
            if residency.waits_for_others(segment) {
                return Reserved::Blocked;
            }
            let room = free_bytes + bytes_of(resident);
            let has_room = |units: &u8| buffer_bytes + bytes_of(*units) <= room;
            // The plan has room for the units themselves.
            if !has_room(&units) && residency.make_headroom(segment, buffer_bytes) {
                return Reserved::Blocked;
            }
            // That much may not stay free: as many of the units as have room.
            let Some(fitting) = (resident + 1..=units).rev().find(has_room) else {
                residency.give_up_lacking(segment, resident);
                return Reserved::GaveUp;
            };
            if fitting < units {
                residency.give_up_lacking(segment, fitting);
            }
            residency.take_group(segment);
            Extent::Group(fitting)
        };
        let group_units = if let Extent::Group(units) = extent { units } else { resident + 1 };
        match (reserve(buffer_bytes), reserve(bytes_of(group_units))) {
            (Some(buffer), group @ Some(_)) => {
                Reserved::Job(Self { request, extent, buffer, copies: None, group })
            }
            // A lookup still probes the old group, or somebody else was faster.
            _ => {
                residency.queue_table(segment.table);
                Reserved::Blocked
            }
        }
    }

    fn bytes(&self) -> usize {
        let others = [&self.copies, &self.group].into_iter().flatten();
        self.buffer.bytes() + others.map(Reservation::bytes).sum::<usize>()
    }

    /// Makes the read. Takes no lock.
    fn read(self) -> LoadResult {
        let Self { request, extent, buffer, copies, group } = self;
        let (is_row, rows) = match extent {
            Extent::Rows(rows) => (true, rows),
            Extent::Unit => (false, 1),
            Extent::Group(units) => return Self::read_group(request, units, buffer, group),
        };
        let (table, wanted_segment, unit) = (&request.table, request.segment.segment, request.resident);
        let (first, count) = if is_row { (0, table.shapes.len()) } else { (wanted_segment, 1) };
        let mut segments: Vec<_> =
            (first..).take(count).map(|segment| (segment, SegmentUnits::default())).collect();
        let mut keep = |segment: u32, read: Result<Vec<u8>, UnitReadError>| {
            let Some((_, kept)) = segments.get_mut((segment - first) as usize) else { return };
            match read {
                _ if kept.error.is_some() => (), // a unit is of use only after those before it
                Ok(bytes) => kept.units.push(bytes),
                Err(error) => kept.error = Some(error),
            }
        };
        let read = catch_unwind(AssertUnwindSafe(|| {
            if !is_row {
                keep(wanted_segment, table.read_unit(wanted_segment, unit));
                return None;
            }
            let mut copy =
                |segment, _, read: Result<&[u8], UnitReadError>| keep(segment, read.map(<[u8]>::to_vec));
            table.source.read_rows(table.units(), unit..unit + rows, &mut copy).err()
        }));
        drop(copies);
        let broke_off = read.unwrap_or_else(|_| Some(panicked()));
        LoadResult { request, is_row, segments, broke_off, buffer, group, new_group: None }
    }

    /// Reads the first units of a segment into a group, or says which one cannot be read.
    fn read_group(
        request: LoadRequest,
        units: u8,
        buffer: Reservation,
        group: Option<Reservation>,
    ) -> LoadResult {
        let new_group = group.map(|reservation| {
            let read = || {
                let mut group = NewGroup::new(request.shape(), units, reservation);
                for unit in 0..units {
                    let bytes = request.table.read_unit(request.segment.segment, unit);
                    let corrupt = |error: FilterError| UnitReadError::Corrupt(error.to_string());
                    let set = bytes.and_then(|bytes| group.set_unit(unit, &bytes).map_err(corrupt));
                    set.map_err(|error| (unit, error))?;
                }
                Ok(group)
            };
            catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err((0, panicked())))
        });
        LoadResult {
            request,
            is_row: false,
            segments: Vec::new(),
            broke_off: None,
            buffer,
            group: None,
            new_group,
        }
    }
}

fn free_bytes(BudgetSnapshot { budget_bytes, used_bytes }: BudgetSnapshot) -> usize {
    budget_bytes - used_bytes
}

fn panicked() -> UnitReadError {
    UnitReadError::Io(std::io::Error::other("the source of filter units panicked"))
}
