//! A table's units come in few reads, also where lookups began before they were read.

mod common;

use std::sync::Arc;

use common::{IDLE_TIMEOUT, MemoryTable, key, manager};
use springbloom_filter::KeyDigest;
use springbloom_manager::{Manager, Outcome, TableHandle};
use springbloom_published_policies::PolicyKind;

const SEGMENTS: u64 = 400;
const KEYS: u64 = 500;
const AMPLE: usize = 64 << 20;

/// Looks up absent keys, some in each of these segments, as an engine does.
fn look_up(handle: &TableHandle, table: u64, segments: impl Iterator<Item = u64>) {
    for segment in segments {
        for n in 0..40 {
            let digest = KeyDigest::of(&key(table, 2 * (segment * KEYS + n) + 1));
            let outcome = handle.rejection(segment as u32, digest).unwrap_or(Outcome::WastedRead);
            handle.record(segment as u32, outcome);
        }
    }
}

fn assert_complete(manager: &Manager) {
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let complete: u64 = manager.stats().levels.iter().map(|level| level.segments[6]).sum();
    assert_eq!(complete, SEGMENTS, "segments with all units");
}

#[test]
fn lookups_that_begin_at_once_do_not_split_reads() {
    for id in 1..=8 {
        let manager = manager(AMPLE, PolicyKind::Benefit);
        let table = MemoryTable::new(id, SEGMENTS, KEYS);
        let handle = manager.register(table.spec(Some(1))).expect("there is room");
        look_up(&handle, id, 0..SEGMENTS);
        assert_complete(&manager);
        let reads = manager.stats().load_reads;
        assert!(reads <= 4, "{reads} reads for one table");
    }
}

/// A manager with a budget in which the segments of a table have different units, and how many have 0, 1, ...
fn with_different_units(table: &Arc<MemoryTable>) -> (Arc<Manager>, TableHandle, Vec<u64>) {
    // How many units fit depends on the allocator.
    for budget_bytes in (110_000..).step_by(30_000).take(10) {
        let manager = manager(budget_bytes, PolicyKind::Benefit);
        let handle = manager.register(table.spec(Some(1))).expect("there is room");
        let hot = || (0..SEGMENTS).filter(|segment| segment % 5 < 2);
        for _ in 0..30 {
            look_up(&handle, 1, hot());
            assert!(manager.wait_idle(IDLE_TIMEOUT));
        }
        let by_units = manager.stats().levels[0].segments.clone();
        if by_units.iter().filter(|&&segments| segments > 20).count() > 2 {
            return (manager, handle, by_units);
        }
    }
    panic!("no budget gives segments different units");
}

/// A few units of some segments are resident: the rest comes in rows nevertheless.
#[test]
fn segments_that_lack_different_units_are_read_together() {
    let table = MemoryTable::new(1, SEGMENTS, KEYS);
    let (manager, _handle, by_units) = with_different_units(&table);
    let before = manager.stats().load_reads;
    manager.set_budget_bytes(AMPLE);
    assert_complete(&manager);
    let reads = manager.stats().load_reads - before;
    assert!(reads <= 4, "{reads} reads where this many segments had 0, 1, ... units: {by_units:?}");
}
