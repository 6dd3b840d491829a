//! What a budget goes to apart from units, in the shape of Setting S1 (340 tables of 4 segments of about 3,700 keys of 24 bytes,
//! 2.5 MB): little, and no less than the process really allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_index::{PackedIndex, Packer};
use springbloom_manager::{
    BytewiseComparator, Fences, Manager, ManagerSettings, Outcome, ScopeId, TableHandle, TableId, TableSpec,
    TableUnits, UnitReadError, UnitSource,
};
use springbloom_published_policies::PolicyKind;

const TABLES: u64 = 340;
const SEGMENTS: u64 = 4;
const KEYS: u64 = 3700;
/// What the RocksDB host keeps of a table.
const LOCATOR_BYTES: usize = 16;
const BUDGET_BYTES: usize = 2_500_000;
const INDEXED_TABLES: u64 = 2_000;
const SMALL_TABLES: u64 = 4_096;
/// Bytes that a table of one segment takes before its units, and with the place of an index, which a host's reader of it is part of.
const SMALL_TABLE_BYTES: [(usize, usize); 2] = [(0, 192), (2_000, 240)];

/// Bytes that live allocations take, as glibc's malloc rounds them.
static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

fn taken(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16).max(32)
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(taken(layout), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(taken(layout), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The same units for every segment, and the same index for every table.
struct Units(BuiltGroup);

/// An index of 600 blocks, as they are of a table of 2.5 MB.
fn index() -> PackedIndex {
    let mut packer = Packer::default();
    (0..600).for_each(|at| packer.add(key(at * at).as_bytes(), at * 4_000, 3_900 + at % 100));
    packer.finish().expect("it can be packed")
}

impl UnitSource for Units {
    fn read_unit(&self, _table: TableUnits<'_>, _segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0.units[usize::from(unit)].clone())
    }

    fn read_index(&self, _slot: u32) -> Result<PackedIndex, UnitReadError> {
        Ok(index())
    }
}

fn key(n: u64) -> String {
    format!("user{n:020}")
}

fn register(
    manager: &Manager,
    table: u64,
    segments: u64,
    units: &Arc<Units>,
    index_bytes: usize,
) -> TableHandle {
    let first = |segment: u64| key((table * segments + segment) * KEYS);
    let handle = manager.register(TableSpec {
        id: TableId(table),
        scope: ScopeId(1),
        level: Some(2),
        comparator: Some(&BytewiseComparator),
        shapes: vec![units.0.shape; segments as usize],
        fences: Fences::pack((0..segments).map(first), Some(first(segments).as_bytes()), true).unwrap(),
        source: units.clone(),
        locator: &[7; LOCATOR_BYTES],
        index_bytes,
        warm_start: None,
    });
    handle.expect("there is room")
}

/// In one test: what begins another one is allocated too.
#[test]
fn what_a_budget_pays_for_is_counted_as_it_is_allocated() {
    bookkeeping_leaves_the_budget_to_units();
    indexes_are_counted_as_they_are_allocated();
    a_small_table_takes_little();
}

fn bookkeeping_leaves_the_budget_to_units() {
    let digests: Vec<_> = (0..KEYS).map(|n| KeyDigest::of(key(n).as_bytes())).collect();
    for settings in
        [UnitSettings::bloom(6, 4).unwrap(), UnitSettings::default(), UnitSettings::ribbon(24).unwrap()]
    {
        for policy in [PolicyKind::Uniform, PolicyKind::Benefit, PolicyKind::MultiQueue] {
            let units = Arc::new(Units(settings.build(&digests)));
            let unit_bytes = units.0.shape.unit_bytes();
            let live_before = LIVE_BYTES.load(Ordering::Relaxed);
            let manager =
                policy.manager(ManagerSettings { budget_bytes: BUDGET_BYTES, ..ManagerSettings::default() });
            let mut handles = Vec::with_capacity(TABLES as usize);
            let live_with_handles = LIVE_BYTES.load(Ordering::Relaxed);
            handles.extend((0..TABLES).map(|table| register(&manager, table, SEGMENTS, &units, 0)));
            assert!(manager.wait_idle(Duration::from_secs(60)));
            let live_bytes = LIVE_BYTES.load(Ordering::Relaxed) - live_before;
            let handles_bytes = taken(Layout::for_value(&*handles));
            let stats = manager.stats();
            let resident: usize =
                stats.levels[0].segments.iter().zip(0..).map(|(&n, units)| n as usize * units).sum();
            let owners_bytes = stats.used.units - resident * unit_bytes;
            let share = |bytes: usize| 100.0 * bytes as f64 / BUDGET_BYTES as f64;
            println!(
                "{settings}, {policy}: {:.1}% in use; bookkeeping {:.2}% ({} B a segment), buffers {:.2}%, owners {:.2}% \
                 ({} B a group); {:.2} bits per key of units; {live_bytes} B live for {} B in use",
                share(stats.used_bytes),
                share(stats.used.bookkeeping),
                stats.used.bookkeeping / (TABLES * SEGMENTS) as usize,
                share(stats.used.buffers),
                share(owners_bytes),
                owners_bytes / (TABLES * SEGMENTS) as usize,
                (resident * unit_bytes * 8) as f64 / (TABLES * SEGMENTS * KEYS) as f64,
                stats.used_bytes,
            );
            let overhead = stats.used.bookkeeping + stats.used.buffers + owners_bytes;
            let most = if policy == PolicyKind::MultiQueue { 8.0 } else { 6.5 };
            // A sanitizer's allocator has size classes, which take up to a quarter more, of groups too.
            let most = if cfg!(sanitized) { most + 20.0 } else { most };
            assert!(share(overhead) <= most, "{settings}, {policy}: {:.2}%", share(overhead));
            // What is not counted: the budget's own counters, the thread and its list of borrowed pointers, hash tables between two sizes.
            let counted = stats.used_bytes + handles_bytes + 8192;
            assert!(live_bytes <= counted, "{settings}, {policy}: {live_bytes} live for {counted} counted");
            let empty_bytes = live_with_handles - live_before;
            assert!(empty_bytes < 40_000, "an empty manager takes {empty_bytes} B");
        }
    }
}

fn indexes_are_counted_as_they_are_allocated() {
    let units = Arc::new(Units(UnitSettings::default().build(&[KeyDigest::of(b"key")])));
    let settings = ManagerSettings { budget_bytes: 40 << 20, ..ManagerSettings::default() };
    let manager = PolicyKind::Benefit.manager(settings);
    let handles: Vec<_> =
        (0..INDEXED_TABLES).map(|table| register(&manager, table, SEGMENTS, &units, 2_000)).collect();
    assert!(manager.wait_idle(Duration::from_secs(60)));
    let (live_before, used_before) = (LIVE_BYTES.load(Ordering::Relaxed), manager.stats().used_bytes);
    while manager.stats().resident_indexes < handles.len() {
        handles.iter().for_each(|table| (0..20).for_each(|_| table.record(0, Outcome::TruePositive)));
        assert!(manager.wait_idle(Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(20));
    }
    let (live, used) =
        (LIVE_BYTES.load(Ordering::Relaxed) - live_before, manager.stats().used_bytes - used_before);
    let ratio = live as f64 / used as f64;
    println!("{INDEXED_TABLES} indexes: {live} B live for {used} B in use");
    assert!((0.95..1.05).contains(&ratio), "{live} B live for {used} B in use");
}

fn a_small_table_takes_little() {
    let units = Arc::new(Units(UnitSettings::default().build(&[])));
    for (index_bytes, most_bytes) in SMALL_TABLE_BYTES {
        let settings = ManagerSettings { budget_bytes: 40 << 20, ..ManagerSettings::default() };
        let manager = PolicyKind::Benefit.manager(settings);
        let mut handles = Vec::with_capacity(SMALL_TABLES as usize);
        let (live_before, used_before) = (LIVE_BYTES.load(Ordering::Relaxed), manager.stats().used_bytes);
        handles.extend((0..SMALL_TABLES).map(|table| register(&manager, table, 1, &units, index_bytes)));
        assert!(manager.wait_idle(Duration::from_secs(60)));
        let (live, stats) = (LIVE_BYTES.load(Ordering::Relaxed) - live_before, manager.stats());
        let used = stats.used_bytes - used_before;
        let [live, used, bookkeeping] =
            [live, used, stats.used.bookkeeping].map(|bytes| bytes / SMALL_TABLES as usize);
        println!(
            "a table of one segment: {live} B live for {used} B in use, {bookkeeping} B of them bookkeeping"
        );
        assert!(bookkeeping <= most_bytes, "{bookkeeping} B");
        // A host's reader of an index is not there.
        let host_bytes = if index_bytes > 0 { 32 } else { 0 };
        assert!(live + host_bytes <= used + 1, "{live} B live for {used} B in use");
    }
}
