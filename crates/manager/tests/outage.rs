//! Sources that fail for a while: afterwards filters are what they would have been, and the failing device is left in peace.

mod common;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, LOCATOR, MemoryTable, manager};
use springbloom_manager::{
    Manager, MemoryKind, Outcome, TableHandle, TableId, TableSpec, TableUnits, UnitReadError, UnitSource,
    UnitVisitor,
};
use springbloom_published_policies::PolicyKind;

/// Tables that share a device. It fails while `is_out`, and always for the table with the locator `BAD`; for `LATE`, after 700 ms.
/// With `SLOW` a read takes 10 ms, with `HANGING` as long as `is_out`.
struct Device {
    table: Arc<MemoryTable>,
    is_out: AtomicBool,
    is_gone: AtomicBool,
    failures: AtomicU64,
    slow_reads: AtomicU64,
}

const BAD: &[u8] = b"beyond repair";
const SLOW: &[u8] = b"on a slow disk";
const HANGING: &[u8] = b"in a network folder";
const LATE: &[u8] = b"beyond repair, after a while";

impl Device {
    fn new() -> Arc<Self> {
        let table = MemoryTable::new(1, 4, 200);
        Arc::new(Self {
            table,
            is_out: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            failures: AtomicU64::new(0),
            slow_reads: AtomicU64::new(0),
        })
    }

    fn check(&self, table: TableUnits<'_>) -> Result<(), UnitReadError> {
        if table.locator == SLOW {
            std::thread::sleep(Duration::from_millis(10));
            self.slow_reads.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        if table.locator == HANGING {
            self.slow_reads.fetch_add(1, Ordering::SeqCst);
            while self.is_out.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            return Ok(());
        }
        if table.locator == LATE {
            std::thread::sleep(Duration::from_millis(700));
        } else if !self.is_out.load(Ordering::SeqCst) && table.locator != BAD {
            return Ok(());
        }
        self.failures.fetch_add(1, Ordering::SeqCst);
        match self.is_gone.load(Ordering::SeqCst) {
            true => Err(UnitReadError::Gone),
            false => Err(UnitReadError::Io(std::io::Error::other("an outage (expected by the test)"))),
        }
    }

    /// Opens tables with the same keys.
    fn open(
        self: &Arc<Self>,
        manager: &Manager,
        ids: Range<u64>,
        locator: &'static [u8],
    ) -> Vec<TableHandle> {
        let handles = ids.map(|id| {
            let of_all = self.table.spec(Some(1));
            let spec = TableSpec { id: TableId(id), source: self.clone(), locator, ..of_all };
            manager.register(spec).expect("there is room")
        });
        handles.collect()
    }
}

impl UnitSource for Device {
    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        self.check(table)?;
        self.table.read_unit(TableUnits { locator: LOCATOR, ..table }, segment, unit)
    }

    fn read_rows(
        &self,
        table: TableUnits<'_>,
        units: Range<u8>,
        visit: UnitVisitor<'_>,
    ) -> Result<(), UnitReadError> {
        self.check(table)?;
        self.table.read_rows(TableUnits { locator: LOCATOR, ..table }, units, visit)
    }
}

const ALL_UNITS: u64 = 4 * 6;

fn resident_units(manager: &Manager) -> u64 {
    manager.stats().levels.iter().map(|level| level.units()).sum()
}

/// Waits until it is so. No lookup is made: what an outage withheld comes by itself.
fn wait_until(manager: &Manager, what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < IDLE_TIMEOUT, "{what}: {:?}", manager.stats());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn wait_for_units(manager: &Manager, units: u64) {
    wait_until(manager, "units are not resident", || resident_units(manager) >= units);
}

#[test]
fn after_an_outage_all_units_come_without_a_lookup() {
    const TABLES: u64 = 300;
    for is_gone in [false, true] {
        for policy in PolicyKind::ALL {
            let (manager, device) = (manager(0, policy), Device::new());
            device.is_out.store(true, Ordering::SeqCst);
            device.is_gone.store(is_gone, Ordering::SeqCst);
            manager.set_budget_bytes(64 << 20);
            let handles = device.open(&manager, 0..TABLES, LOCATOR);
            let begun = Instant::now();
            // Lookups that waste reads ask for units all the time. Multi-Queue gives a unit for each, so on a busy machine it takes longer.
            let mut rounds = 0;
            while rounds < 10 || begun.elapsed() < Duration::from_millis(400) {
                rounds += 1;
                for handle in &handles {
                    (0..4).for_each(|segment| handle.record(segment, Outcome::WastedRead));
                }
                assert!(manager.wait_idle(IDLE_TIMEOUT));
            }
            let (stats, failures) = (manager.stats(), device.failures.load(Ordering::SeqCst));
            assert_eq!(resident_units(&manager), 0, "{policy}");
            assert_eq!(stats.failing_tables as u64, TABLES, "{policy}: {stats:?}");
            assert_eq!(stats.failed_reads > 0, !is_gone, "{policy}: {stats:?}");
            // Of tables that are gone each is tried once. Others are tried 16 times until the device counts as out, and some are under way.
            // Then come 16 for each pause of at least 24 ms.
            let at_once = if is_gone { TABLES } else { 32 };
            let pauses = begun.elapsed().as_millis() as u64 / 24 + 1;
            assert!(failures <= at_once + 16 * pauses, "{policy}: {failures} failures in {pauses} pauses");
            device.is_out.store(false, Ordering::SeqCst);
            wait_for_units(&manager, TABLES * ALL_UNITS);
            let stats = manager.stats();
            assert_eq!((stats.failing_tables, stats.corrupt_units), (0, 0), "{policy}: {stats:?}");
            assert_eq!(stats.thread_panics, 0, "{policy}: {stats:?}");
        }
    }
}

#[test]
fn after_wrong_bytes_all_units_come_without_a_lookup() {
    const TABLES: u64 = 30;
    for policy in PolicyKind::ALL {
        let (manager, device) = (manager(0, policy), Device::new());
        device.table.corrupt.store(true, Ordering::SeqCst);
        manager.set_budget_bytes(64 << 20);
        let handles = device.open(&manager, 0..TABLES, LOCATOR);
        let begun = Instant::now();
        while manager.stats().corrupt_units < TABLES {
            assert!(begun.elapsed() < IDLE_TIMEOUT, "{policy}: {:?}", manager.stats());
            for handle in &handles {
                (0..4).for_each(|segment| handle.record(segment, Outcome::WastedRead));
            }
            assert!(manager.wait_idle(IDLE_TIMEOUT));
        }
        assert_eq!(resident_units(&manager), 0, "{policy}");
        // Lookups do not ask for what is known to be corrupt. It is tried again after a second and longer pauses.
        let reads = device.table.reads.load(Ordering::SeqCst);
        let tries = begun.elapsed().as_secs() + 1;
        assert!(reads <= tries * TABLES * 4, "{policy}: {reads} reads in {tries} tries");
        device.table.corrupt.store(false, Ordering::SeqCst);
        wait_for_units(&manager, TABLES * ALL_UNITS);
        assert_eq!(manager.stats().failed_reads, 0, "{policy}: {:?}", manager.stats());
    }
}

#[test]
fn a_table_that_can_never_be_read_keeps_nobody_waiting() {
    let (manager, device) = (manager(64 << 20, PolicyKind::Benefit), Device::new());
    let bad = device.open(&manager, 0..40, BAD);
    let good = device.open(&manager, 100..200, LOCATOR);
    wait_for_units(&manager, 100 * ALL_UNITS);
    let begun = Instant::now();
    while manager.stats().failing_tables < 40 {
        assert!(begun.elapsed() < IDLE_TIMEOUT, "{:?}", manager.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
    let later = device.open(&manager, 300..400, LOCATOR);
    wait_for_units(&manager, 200 * ALL_UNITS);
    // A table that is closed and forgotten is not tried again.
    drop(bad);
    (0..40).for_each(|id| manager.forget(TableId(id)));
    assert_eq!(manager.stats().failing_tables, 0);
    drop((good, later));
}

/// Tries of a device that hangs take longer than the pauses between them.
#[test]
fn a_device_that_fails_late_keeps_no_other_waiting_for_long() {
    let (manager, late, good) = (manager(64 << 20, PolicyKind::Benefit), Device::new(), Device::new());
    let hanging = late.open(&manager, 0..100, LATE);
    let failures = || late.failures.load(Ordering::SeqCst);
    wait_until(&manager, "the device is not tried", || failures() >= 32);
    let before = failures();
    let handles = good.open(&manager, 100..120, LOCATOR);
    wait_for_units(&manager, 20 * ALL_UNITS);
    let meanwhile = failures() - before;
    assert!(meanwhile <= 48, "{meanwhile} tries of the device that hangs came first");
    drop((hanging, handles));
}

#[test]
fn a_slow_device_keeps_no_other_waiting() {
    let (manager, slow, fast) = (manager(64 << 20, PolicyKind::Benefit), Device::new(), Device::new());
    let of_slow = slow.open(&manager, 0..400, SLOW);
    let slow_reads = || slow.slow_reads.load(Ordering::SeqCst);
    wait_until(&manager, "the slow device is not read", || slow_reads() > 16);
    let before = slow_reads();
    let of_fast = fast.open(&manager, 1000..1020, LOCATOR);
    wait_until(&manager, "the fast device lacks units", || {
        of_fast.iter().all(|table| (0..4).all(|segment| table.resident_units(segment) == 6))
    });
    let meanwhile = slow_reads() - before;
    println!("{meanwhile} reads of the slow device meanwhile");
    assert!(meanwhile <= 120, "{meanwhile} reads of the slow device came first");
    drop((of_slow, of_fast));
}

#[test]
fn devices_that_hang_keep_no_other_waiting() {
    let (manager, fast) = (manager(64 << 20, PolicyKind::Benefit), Device::new());
    let hanging: [_; 4] = std::array::from_fn(|_| Device::new());
    let of_hanging: Vec<_> = (0u64..)
        .zip(&hanging)
        .map(|(device, hanging)| {
            hanging.is_out.store(true, Ordering::SeqCst);
            let tables = hanging.open(&manager, device * 100..device * 100 + 50, HANGING);
            wait_until(&manager, "nothing hangs", || hanging.slow_reads.load(Ordering::SeqCst) > 0);
            tables
        })
        .collect();
    let of_fast = fast.open(&manager, 1000..1020, LOCATOR);
    wait_for_units(&manager, 20 * ALL_UNITS);
    assert!(!manager.wait_idle(Duration::from_millis(20)), "reads are under way");
    hanging.iter().for_each(|hanging| hanging.is_out.store(false, Ordering::SeqCst));
    wait_for_units(&manager, 220 * ALL_UNITS);
    drop((of_hanging, of_fast));
}

/// What they hold is free for nobody.
#[test]
fn a_budget_falls_while_reads_hang() {
    let manager = manager(64 << 20, PolicyKind::Benefit);
    let (hanging, fast) = (Device::new(), Device::new());
    let of_fast = fast.open(&manager, 0..60, LOCATOR);
    wait_for_units(&manager, 60 * ALL_UNITS);
    hanging.is_out.store(true, Ordering::SeqCst);
    let of_hanging = hanging.open(&manager, 100..150, HANGING);
    wait_until(&manager, "nothing hangs", || hanging.slow_reads.load(Ordering::SeqCst) >= 8);
    // The plan takes the units of others first, which are not there yet.
    for segment in 0..4 {
        of_fast.iter().for_each(|table| (0..100).for_each(|_| table.record(segment, Outcome::Rejected)));
    }
    manager.wait_idle(Duration::from_millis(100));
    let used_bytes = manager.stats().used_bytes;
    let budgets: Vec<_> = (35..99).rev().map(|percent| used_bytes * percent / 100).collect();
    let (fell, reached) = mpsc::channel();
    let reached = std::thread::scope(|scope| {
        scope.spawn(|| fell.send(budgets.iter().map(|&bytes| manager.set_budget_bytes(bytes)).collect()));
        let reached: Result<Vec<_>, _> = reached.recv_timeout(IDLE_TIMEOUT / 4);
        hanging.is_out.store(false, Ordering::SeqCst);
        reached
    });
    assert_eq!(reached, Ok(budgets.clone()));
    drop((of_hanging, of_fast));
}

#[test]
fn a_budget_below_what_hanging_reads_hold_is_reached_when_they_end() {
    let (manager, hanging) = (manager(64 << 20, PolicyKind::Benefit), Device::new());
    hanging.is_out.store(true, Ordering::SeqCst);
    let tables = hanging.open(&manager, 0..50, HANGING);
    wait_until(&manager, "nothing hangs", || hanging.slow_reads.load(Ordering::SeqCst) >= 8);
    let held_bytes = || manager.budget().used_bytes_of(MemoryKind::Loading);
    let budget_bytes = || manager.budget().budget_bytes();
    let (fell, reached) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| fell.send(manager.set_budget_bytes(0)));
        let reached = reached.recv_timeout(IDLE_TIMEOUT / 4);
        let held = held_bytes();
        hanging.is_out.store(false, Ordering::SeqCst);
        let reached = reached.expect("nobody waits for a read that hangs");
        assert!(0 < held && held <= reached, "{held} bytes of {reached}");
        wait_until(&manager, "the budget does not fall", || {
            held_bytes() == 0 && budget_bytes() <= reached - held
        });
    });
    drop(tables);
}
