//! Replaces a segment's group by one with all its units, read anew. For budgets that have no room for two groups of a segment at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{Job, panicked};
use crate::UnitReadError;
use crate::lookup::group_cell;
use crate::registry::SharedRegistry;

/// How often to try for the bytes of the old group, and the time between tries: a lookup may hold it for one probe.
const VACATING_TRIES: u32 = 1000;
const VACATING_PAUSE: Duration = Duration::from_micros(50);

pub(super) fn load(mut job: Job, registry: &SharedRegistry) {
    let mut reads = 0;
    let loaded = catch_unwind(AssertUnwindSafe(|| replace_group(&mut job, &mut reads, registry)));
    let broke_off = loaded.err().map(|_| panicked());
    registry.lock().finish_load(&job.wanted, reads, job.buffer.bytes(), broke_off);
}

/// Reads the last unit first. Until then the segment keeps its old group: if the device fails, nothing is lost.
fn replace_group(job: &mut Job, reads: &mut u64, registry: &SharedRegistry) {
    let Job { wanted, group: reserved, .. } = job;
    let (shape, segment, last) = (wanted.shape(), wanted.segment.segment, wanted.units - 1);
    *reads += 1;
    let last_unit = match wanted.table.read_unit(segment, last) {
        Ok(bytes) => bytes,
        Err(error) => return registry.lock().fail_unit(wanted, last, error),
    };
    if !registry.lock().vacate(wanted) {
        return;
    }
    let mut tries = 0..VACATING_TRIES;
    let reservation = tries.find_map(|_| {
        let reservation = registry.lock().reserve_in_place(wanted, reserved);
        if reservation.is_none() {
            std::thread::sleep(VACATING_PAUSE);
        }
        reservation
    });
    let Some(reservation) = reservation else { return registry.lock().request_again(wanted) };
    let mut failed = None;
    let group = group_cell::build(shape, wanted.units, reservation, None, |head, words| {
        let others = (0..last).map(|unit| {
            *reads += 1;
            (unit, wanted.table.read_unit(segment, unit))
        });
        for (unit, read) in std::iter::once((last, Ok(last_unit))).chain(others) {
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
        registry.lock().take_in_group(wanted, group, failed);
    }
}
