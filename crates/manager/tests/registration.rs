//! Many tables are opened after lookups were counted: each costs about the same however many there are.
#![cfg(target_os = "linux")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::IDLE_TIMEOUT;
use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_manager::{
    BytewiseComparator, Fences, Manager, ManagerSettings, Outcome, ScopeId, TableHandle, TableId, TableSpec,
    TableUnits, UnitReadError, UnitSource,
};
use springbloom_testkit::cpu_time::{TICK, cpu_time};

/// The same units for every table.
struct Units(BuiltGroup);

impl UnitSource for Units {
    fn read_unit(&self, _table: TableUnits<'_>, _segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0.units[usize::from(unit)].clone())
    }
}

fn register(manager: &Manager, scope: u64, table: u64, units: &Arc<Units>) -> TableHandle {
    let [first, last] = [0, 900].map(|n| format!("user{:012}", table * 1000 + n));
    let handle = manager.register(TableSpec {
        id: TableId(scope << 40 | table),
        scope: ScopeId(scope),
        level: Some(6),
        comparator: Some(&BytewiseComparator),
        shapes: vec![units.0.shape],
        fences: Fences::pack([first.as_bytes()], Some(last.as_bytes()), true).unwrap(),
        source: units.clone(),
        locator: b"",
        index_bytes: 0,
        warm_start: None,
    });
    handle.expect("there is room")
}

/// A manager that has counted lookups, with the table that they were for.
fn after_lookups() -> (Arc<Manager>, TableHandle, Arc<Units>) {
    let digests: Vec<_> = (0..50u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
    let units = Arc::new(Units(UnitSettings::ribbon(4).unwrap().build(&digests)));
    let manager = Manager::new(ManagerSettings { budget_bytes: 256 << 20, ..ManagerSettings::default() });
    let other = register(&manager, 1, 0, &units);
    (0..5000).for_each(|_| other.record(0, Outcome::WastedRead));
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    (manager, other, units)
}

/// What registering this many tables takes of the processor when lookups were counted before, by the way of choosing the next one.
fn registering(tables: u64, nth: impl Fn(u64) -> u64) -> Duration {
    let (manager, _other, units) = after_lookups();
    let begun = cpu_time();
    let handles: Vec<_> = (0..tables).map(|n| register(&manager, 2, nth(n), &units)).collect();
    let taken = cpu_time() - begun;
    assert_eq!(manager.stats().tables, handles.len() + 1);
    taken
}

#[test]
fn the_time_for_a_table_hardly_grows_with_their_number() {
    let (few, many) = (2000, 32_000);
    for (order, nth) in [
        ("in order", (|n| n) as fn(u64) -> u64),
        ("in any order", |n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24),
    ] {
        let [few_take, many_take] = [few, many].map(|tables| registering(tables, nth));
        println!("{order}: {few} tables {few_take:?}, {many} tables {many_take:?}");
        // Linear: 16 times as much, and cache misses that a few tables do not have; each looking at each: 256 times.
        assert!(
            many_take < 160 * few_take.max(TICK),
            "{order}: {few_take:?} for {few}, {many_take:?} for {many}"
        );
    }
}

#[test]
#[ignore = "prints how long registering takes while others look up; run it in release mode with --nocapture"]
fn time_for_tables_beside_lookups() {
    for tables in [5_000, 20_000, 40_000] {
        let (manager, other, units) = after_lookups();
        let (is_over, lookups) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let sought = lookups.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                    let outcome = other.rejection(0, KeyDigest::of(&sought)).unwrap_or(Outcome::WastedRead);
                    other.record(0, outcome);
                }
            });
            // It runs.
            while lookups.load(Ordering::Relaxed) < 100_000 {
                std::thread::yield_now();
            }
            let (before, begun, cpu) = (lookups.load(Ordering::Relaxed), Instant::now(), cpu_time());
            let handles: Vec<_> = (0..tables).map(|table| register(&manager, 2, table, &units)).collect();
            let (time, cpu) = (begun.elapsed(), cpu_time() - cpu);
            let lookups = lookups.load(Ordering::Relaxed) - before;
            is_over.store(true, Ordering::Relaxed);
            println!("{} tables: {time:?}, {cpu:?} of a processor, during {lookups} lookups", handles.len());
        });
    }
}
