//! A unit's way from disk to memory, from top to bottom:
//!
//! 1. the registry says which unit is wanted most (`next_request`);
//! 2. bytes are reserved for it, or the registry makes room and the load waits (`Job::reserve`);
//! 3. the source reads it, without any lock (`Job::read`);
//! 4. the registry takes in what was read in one call (`take_in_units`): the groups that lookups find grow by it.
//!
//! Invariant: bytes are reserved before they are allocated, those of what is read and those that groups grow by.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::budget::{BudgetSnapshot, MemoryKind, Reservation};
use crate::memory::group_bytes;
use crate::registry::{LoadRequest, LoadResult, ReadUnits, Registry, SharedRegistry};
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
        let registry = &mut *registry.lock();
        loop {
            let Some(request) = registry.next_request() else { return Progress::Idle };
            match Job::reserve(request, registry) {
                Reserved::Job(job) => {
                    let LoadRequest { place, segment, .. } = &job.request;
                    let number = registry.loads.in_flight.begin(*place, Some(segment.table), job.bytes());
                    break (job, number);
                }
                Reserved::Blocked => return Progress::Blocked,
                Reserved::GaveUp => (),
            }
        }
    };
    let table = job.request.segment.table;
    // Dropped after the lock is released: the last share in it may be the job's, and the host's code runs then.
    let _source = job.request.source.clone();
    let loaded = job.read();
    let registry = &mut *registry.lock();
    let has_waited = registry.loads.in_flight.end(number);
    registry.take_in_units(loaded);
    if has_waited {
        registry.queue_table(table);
    }
    Progress::Loaded
}

/// A read with the bytes reserved for it.
struct Job {
    request: LoadRequest,
    /// Rows of the table to read, units of each of its segments, with bytes for the source's own copy of them. `None`: one unit.
    rows: Option<(u8, Reservation)>,
    /// For the units that are read.
    buffer: Reservation,
}

enum Reserved {
    Job(Job),
    Blocked,
    /// There will be no room. The segment does without the unit for a while.
    GaveUp,
}

impl Job {
    fn reserve(request: LoadRequest, registry: &mut Registry) -> Reserved {
        let budget = registry.memory.budget.clone();
        let reserve = |bytes| budget.try_reserve(MemoryKind::Loading, bytes);
        let resident = request.resident;
        let shapes = || request.shapes.iter();
        let row_bytes: usize = shapes().map(|shape| shape.unit_bytes()).sum();
        let rows_max = request.rows.min((ROWS_BYTES_MAX / row_bytes.max(1)).clamp(1, u8::MAX.into()) as u8);
        for rows in (1..=rows_max).rev() {
            let bytes = ReadUnits::bytes_for(row_bytes, request.shapes.len(), rows);
            // If the groups did not fit next to the buffer, the rows would be read again and again.
            let grown = |&shape| group_bytes(shape, resident + rows) - group_bytes(shape, resident);
            let grown_bytes: usize = shapes().map(grown).sum();
            if free_bytes(budget.snapshot()) >= bytes + grown_bytes.max(bytes)
                && let (Some(buffer), Some(copy)) = (reserve(bytes), reserve(bytes))
            {
                return Reserved::Job(Self { request, rows: Some((rows, copy)), buffer });
            }
        }
        let (segment, buffer_bytes) = (request.segment, request.buffer_bytes());
        let bytes_of = |units| group_bytes(request.shape(), units);
        let grown_bytes = bytes_of(resident + 1) - bytes_of(resident);
        if free_bytes(budget.snapshot()) >= buffer_bytes + grown_bytes
            && let Some(buffer) = reserve(buffer_bytes)
        {
            return Reserved::Job(Self { request, rows: None, buffer });
        }
        // Other reads end soon, and free what they hold. The plan has room for the unit itself.
        if registry.loads.in_flight.has_recent() || registry.make_headroom(buffer_bytes) {
            registry.queue_table(segment.table);
            return Reserved::Blocked;
        }
        registry.give_up_lacking(segment);
        Reserved::GaveUp
    }

    fn bytes(&self) -> usize {
        self.buffer.bytes() + self.rows.as_ref().map_or(0, |(_, copy)| copy.bytes())
    }

    /// Makes the read. Takes no lock.
    fn read(self) -> LoadResult {
        let Self { request, rows, buffer } = self;
        let (source, unit) = (&request.source, request.resident);
        let is_row = rows.is_some();
        let mut units = ReadUnits::default();
        let read = catch_unwind(AssertUnwindSafe(|| {
            let Some((rows, _)) = &rows else {
                units = ReadUnits::one(source.read_unit(request.units(), request.segment.segment, unit));
                return None;
            };
            units = ReadUnits::new(&request.shapes, *rows);
            let mut visit = |segment, of: u8, read: Result<&[u8], UnitReadError>| {
                units.push(segment, of.wrapping_sub(unit), read)
            };
            source.read_rows(request.units(), unit..unit + rows, &mut visit).err()
        }));
        drop(rows);
        let broke_off = read.unwrap_or_else(|_| {
            Some(UnitReadError::Io(std::io::Error::other("the source of filter units panicked")))
        });
        LoadResult { request, is_row, units, broke_off, buffer }
    }
}

fn free_bytes(BudgetSnapshot { budget_bytes, used_bytes }: BudgetSnapshot) -> usize {
    budget_bytes - used_bytes
}
