//! What a budget goes to beside units, in the shape of Setting S1 (340 tables of 4 segments of about 3,700 keys of 24 bytes,
//! 2.5 MB): little, and no less than the process really allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use springbloom_filter::{BuiltGroup, KeyDigest, UnitSettings};
use springbloom_manager::{
    BytewiseOrder, Fences, Manager, ManagerSettings, ScopeId, TableHandle, TableId, TableSpec, TableUnits,
    UnitReadError, UnitSource,
};
use springbloom_published_policies::PolicyKind;

const TABLES: u64 = 340;
const SEGMENTS: u64 = 4;
const KEYS: u64 = 3700;
/// What the RocksDB host keeps of a table.
const LOCATOR_BYTES: usize = 32;
const BUDGET_BYTES: usize = 2_500_000;

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

/// The same units for every segment.
struct Units(BuiltGroup);

impl UnitSource for Units {
    fn read_unit(&self, _table: TableUnits<'_>, _segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        Ok(self.0.units[usize::from(unit)].clone())
    }
}

fn key(n: u64) -> String {
    format!("user{n:020}")
}

fn register(manager: &Manager, table: u64, units: &Arc<Units>) -> TableHandle {
    let first = |segment: u64| key((table * SEGMENTS + segment) * KEYS);
    let handle = manager.register(TableSpec {
        id: TableId(table),
        scope: ScopeId(1),
        level: Some(2),
        order: &BytewiseOrder,
        shapes: vec![units.0.shape; SEGMENTS as usize],
        fences: Fences::pack((0..SEGMENTS).map(first), Some(first(SEGMENTS).as_bytes()), &BytewiseOrder)
            .unwrap(),
        source: units.clone(),
        locator: &[7; LOCATOR_BYTES],
        warm_start: None,
    });
    handle.expect("there is room")
}

#[test]
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
            handles.extend((0..TABLES).map(|table| register(&manager, table, &units)));
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
