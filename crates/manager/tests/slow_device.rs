//! Reads from a device that takes long for each of them.

mod common;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, MemoryTable, manager};
use springbloom_manager::{PolicyKind, TableSpec, TableUnits, UnitReadError, UnitSource, UnitVisitor};

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
    assert_eq!(stats.loads, tables * 4 * 6, "all units of all segments: {stats:?}");
    drop(handles);
    (stats.load_reads, stats.loads, time, in_flight.most.load(Ordering::SeqCst))
}

#[test]
fn a_table_is_one_read_and_slow_reads_are_made_at_once() {
    let (reads, _, _, most) = open(64, Duration::from_millis(2));
    assert!(reads <= 2 * 64, "{reads} reads for 64 tables");
    assert!((4..=8).contains(&most), "{most} reads at once");
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
