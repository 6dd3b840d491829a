//! Reads from a device that takes long for each of them.

mod common;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, MemoryTable, key, manager};
use springbloom_filter::KeyDigest;
use springbloom_manager::{
    BytewiseComparator, Outcome, TableHandle, TableSpec, TableUnits, UnitReadError, UnitSource, UnitVisitor,
};
use springbloom_published_policies::PolicyKind;

/// Tables on a device that takes `latency` for a read, whatever else it reads.
struct Slow {
    table: Arc<MemoryTable>,
    latency: Duration,
    in_flight: Arc<InFlight>,
}

#[derive(Default)]
struct InFlight {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Slow {
    fn wait(&self) {
        let now = self.in_flight.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.in_flight.most.fetch_max(now, Ordering::SeqCst);
        std::thread::sleep(self.latency);
        self.in_flight.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl UnitSource for Slow {
    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        self.wait();
        self.table.read_unit(table, segment, unit)
    }

    fn read_rows(
        &self,
        table: TableUnits<'_>,
        units: Range<u8>,
        visit: UnitVisitor<'_>,
    ) -> Result<(), UnitReadError> {
        self.wait();
        self.table.read_rows(table, units, visit)
    }
}

/// Opens tables under an ample budget and waits until all their units are resident. Gives reads, units, the time, and the most reads that
/// were made at once.
fn open(tables: u64, latency: Duration) -> (u64, u64, Duration, usize) {
    let manager = manager(64 << 20, PolicyKind::Benefit);
    let in_flight = Arc::new(InFlight::default());
    let begun = Instant::now();
    let handles: Vec<_> = (0..tables)
        .map(|id| {
            let table = MemoryTable::new(id, 4, 500);
            let source = Arc::new(Slow { table: table.clone(), latency, in_flight: in_flight.clone() });
            manager.register(TableSpec { source, ..table.spec(Some(1)) }).expect("there is room")
        })
        .collect();
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let (stats, time) = (manager.stats(), begun.elapsed());
    assert_no_threads_begin();
    assert_eq!(stats.loads, tables * 4 * 6, "all units of all segments: {stats:?}");
    drop(handles);
    (stats.load_reads, stats.loads, time, in_flight.most.load(Ordering::SeqCst))
}

/// Threads of this process that read units, besides the manager's. Linux keeps 15 characters of a name.
fn loaders() -> BTreeSet<OsString> {
    let tasks = fs::read_dir("/proc/self/task").expect("Linux lists threads");
    let is_loader = |task: &fs::DirEntry| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with("springbloom-loa"))
    };
    tasks.flatten().filter(is_loader).map(|task| task.file_name()).collect()
}

/// An idle manager begins no threads, however slow the reads were before.
fn assert_no_threads_begin() {
    let ended = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        loaders().is_empty()
    });
    assert!(ended, "threads that read units end");
    for _ in 0..2000 {
        assert_eq!(loaders(), BTreeSet::new(), "nothing is left to read");
    }
}

#[test]
fn a_table_is_one_read_and_slow_reads_are_made_at_once() {
    let (reads, _, _, most) = open(64, Duration::from_millis(2));
    assert!(reads <= 2 * 64, "{reads} reads for 64 tables");
    assert!((4..=16).contains(&most), "{most} reads at once");
}

/// Segments are a large part of the budget, which rises bit by bit: there is never room for a copy of a group.
#[test]
fn a_group_grows_without_reading_its_units_again() {
    let (table, in_flight) = (MemoryTable::new(1, 4, 2000), Arc::new(InFlight::default()));
    let all_bytes = 6 * table.row_bytes();
    let manager = manager(all_bytes / 4, PolicyKind::Benefit);
    let latency = Duration::from_millis(2);
    let source = Arc::new(Slow { table: table.clone(), latency, in_flight });
    let handle = manager.register(TableSpec { source, ..table.spec(Some(1)) }).expect("there is room");
    let mut n = 0;
    for budget_bytes in (all_bytes / 4..2 * all_bytes).step_by(table.row_bytes() / 16) {
        manager.set_budget_bytes(budget_bytes);
        for _ in 0..400 {
            n += 1;
            let sought = key(1, n * 7919 % 8000 * 2 + 1);
            let segment = handle.segment_of(&sought, &BytewiseComparator);
            let outcome = handle.rejection(segment, KeyDigest::of(&sought)).unwrap_or(Outcome::WastedRead);
            handle.record(segment, outcome);
        }
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        // Whatever the policy evicts and wants again: a group that is lost while it grows was loaded, and is not evicted.
        let (stats, units) = (manager.stats(), resident_units(&handle, table.groups.len()));
        assert_eq!(stats.loads, units + stats.evictions, "{budget_bytes} bytes: {stats:?}");
    }
    let (stats, units) = (manager.stats(), resident_units(&handle, table.groups.len()));
    assert_eq!(units, 4 * 6, "all units of all segments: {stats:?}");
    assert!(stats.evictions <= units, "{stats:?}");
}

fn resident_units(handle: &TableHandle, segments: usize) -> u64 {
    (0..segments as u32).map(|segment| u64::from(handle.resident_units(segment))).sum()
}

/// As among more threads than cores, of which one always stopped at a probe.
#[test]
fn a_group_that_is_always_probed_grows_without_reading_its_units_again() {
    let table = MemoryTable::new(1, 1, 4000);
    let manager = manager(12 << 10, PolicyKind::Benefit);
    let handle = manager.register(table.spec(Some(1))).expect("there is room");
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let few = handle.resident_units(0);
    assert!((1..6).contains(&few), "{few} units: {:?}", manager.stats());
    handle.rejections(&[(0, KeyDigest::of(&key(1, 1)))], |_, _| {
        manager.set_budget_bytes(1 << 20);
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        assert_eq!(handle.resident_units(0), 6, "{:?}", manager.stats());
        let stats = manager.stats();
        assert_eq!((stats.loads, stats.evictions), (6, 0), "{stats:?}");
        assert!(table.reads.load(Ordering::Relaxed) <= 6, "{stats:?}");
    });
}

#[test]
#[ignore = "prints units per second by the latency of a read; run it in release mode with --nocapture"]
fn units_per_second_by_latency() {
    for latency in [60, 1000, 8000].map(Duration::from_micros) {
        let (reads, units, time, most) = open(400, latency);
        let (seconds, one_by_one) = (time.as_secs_f64(), latency.as_secs_f64() * units as f64);
        println!(
            "{latency:?} a read: {:.0} units/s, {reads} reads, {most} at once, {:.1} times as fast as a unit at a time",
            units as f64 / seconds,
            one_by_one / seconds
        );
    }
}
