//! Reads from a device that takes long for each of them.

mod common;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, MemoryTable, manager};
use springbloom_manager::{TableSpec, TableUnits, UnitReadError, UnitSource, UnitVisitor};
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
