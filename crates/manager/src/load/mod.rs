//! A unit's way from disk to memory, from top to bottom:
//!
//! 1. the registry says which unit is wanted most (`next_wanted`);
//! 2. bytes are reserved for it, or the registry makes room and the load waits (`Job::reserve`);
//! 3. the source reads it, without any lock (`Job::read`);
//! 4. the registry takes in what was read in one call (`take_in_units`): it builds the group that lookups find from then on.
//!
//! A group grows by a copy with one unit more. Where two groups are too much to keep free, [all units of the segment are read
//! anew](whole_group) into a group that takes the old one's place.
//!
//! Invariant: a job's bytes (what is read and the group that will hold it) are reserved before they are allocated.

mod whole_group;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::memory::{group_bytes, taken_bytes};
use crate::registry::{Loaded, Registry, SharedRegistry, Wanted};
use crate::{BudgetSnapshot, MemoryKind, Reservation, UnitReadError};

/// How a call of [`load_next`] ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A read was made.
    Loaded,
    /// There is a read to make, but not before bytes come free that somebody still holds: a lookup for the time of one probe, or the
    /// host.
    Blocked,
    /// Nothing is wanted.
    Idle,
}

/// Makes the read that is wanted most.
pub(crate) fn load_next(registry: &SharedRegistry) -> Progress {
    let job = {
        let mut registry = registry.lock();
        loop {
            let Some(wanted) = registry.next_wanted() else { return Progress::Idle };
            match Job::reserve(wanted, &mut registry) {
                Reserved::Job(job) => break job,
                Reserved::Blocked => return Progress::Blocked,
                Reserved::GaveUp => (),
            }
        }
    };
    match job.extent {
        Extent::Group => whole_group::load(job, registry),
        Extent::Unit | Extent::Row => {
            let loaded = job.read();
            registry.lock().take_in_units(loaded);
        }
    }
    Progress::Loaded
}

/// What a job reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// One unit of one segment.
    Unit,
    /// One unit of each segment of a table.
    Row,
    /// All units of a segment, into a group of their own.
    Group,
}

/// One read to make, with the bytes that it takes.
struct Job {
    wanted: Wanted,
    extent: Extent,
    /// For the bytes while they are read.
    buffer: Reservation,
    /// For the source's own copy of a row.
    copies: Option<Reservation>,
    /// For the group that will hold the unit, or what it takes more than the one before; rows reserve group by group.
    group: Option<Reservation>,
}

enum Reserved {
    Job(Job),
    Blocked,
    /// There will be no room; the segment does without for a while.
    GaveUp,
}

impl Job {
    fn reserve(wanted: Wanted, registry: &mut Registry) -> Reserved {
        let budget = registry.budget().clone();
        let reserve = |bytes| budget.try_reserve(MemoryKind::Loading, bytes);
        let Wanted { resident, units, .. } = wanted;
        if wanted.as_row {
            let shapes = || wanted.table.shapes.iter();
            let bytes: usize = shapes().map(|shape| shape.unit_bytes()).sum();
            // Each group of the row needs its place beside the buffer before the one that it replaces goes; a row that
            // finds no place for one would be read again and again.
            let group_bytes_max = shapes().map(|&shape| group_bytes(shape, resident + 1)).max().unwrap_or(0);
            if free_bytes(budget.snapshot()) >= 2 * bytes + group_bytes_max
                && let (Some(buffer), copies @ Some(_)) = (reserve(bytes), reserve(bytes))
            {
                return Reserved::Job(Self { wanted, extent: Extent::Row, buffer, copies, group: None });
            }
        }
        let shape = wanted.shape();
        let buffer_bytes = taken_bytes(shape.unit_bytes());
        let bytes_of = |units| group_bytes(shape, units);
        // For copies up to the last unit that it lacks.
        let copies_bytes = buffer_bytes + bytes_of(units - 1) - bytes_of(resident) + bytes_of(units);
        if free_bytes(budget.snapshot()) >= copies_bytes
            && let (Some(buffer), group @ Some(_)) = (reserve(buffer_bytes), reserve(bytes_of(resident + 1)))
        {
            return Reserved::Job(Self { wanted, extent: Extent::Unit, buffer, copies: None, group });
        }
        // What the unit itself takes is planned.
        let copy_bytes = buffer_bytes + bytes_of(units - 1);
        let lacking_bytes = if copy_bytes <= registry.copies_bytes_max() {
            copy_bytes
        } else if let (Some(buffer), group @ Some(_)) =
            (reserve(buffer_bytes), reserve(bytes_of(units) - bytes_of(resident)))
        {
            return Reserved::Job(Self { wanted, extent: Extent::Group, buffer, copies: None, group });
        } else {
            buffer_bytes
        };
        if registry.make_headroom(wanted.segment, lacking_bytes) {
            Reserved::Blocked
        } else {
            Reserved::GaveUp
        }
    }

    /// Makes the read. Takes no lock.
    fn read(self) -> Loaded {
        let Self { wanted, extent, buffer, copies, group } = self;
        let (table, segment, unit) = (&wanted.table, wanted.segment.segment, wanted.resident);
        let mut units = Vec::new();
        let read = catch_unwind(AssertUnwindSafe(|| {
            if extent == Extent::Unit {
                units.push((segment, table.read_unit(segment, unit)));
                return None;
            }
            let mut keep = |segment: u32, read: Result<&[u8], UnitReadError>| {
                units.push((segment, read.map(<[u8]>::to_vec)));
            };
            table.source.read_row(table.units(), unit, &mut keep).err()
        }));
        drop(copies);
        let broke_off = read.unwrap_or_else(|_| Some(panicked()));
        let is_row = extent == Extent::Row;
        Loaded { wanted, is_row, units, broke_off, buffer, group }
    }
}

fn free_bytes(BudgetSnapshot { budget_bytes, used_bytes }: BudgetSnapshot) -> usize {
    budget_bytes - used_bytes
}

fn panicked() -> UnitReadError {
    UnitReadError::Io(std::io::Error::other("the source of filter units panicked"))
}
