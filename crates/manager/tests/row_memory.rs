//! What a read of rows takes while it is made: no more than the budget has, also where a unit is smaller than an allocation's overhead.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{IDLE_TIMEOUT, MemoryTable, manager};
use springbloom_published_policies::PolicyKind;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system's allocator is asked for the same.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE_BYTES.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK_BYTES.fetch_max(live, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn rows_of_tiny_units_are_read_within_the_budget() {
    for (segments, keys) in [(2000, 1), (500, 200)] {
        let table = MemoryTable::new(1, segments, keys);
        let used_bytes = {
            let ample = manager(64 << 20, PolicyKind::Benefit);
            let _handle = ample.register(table.spec(Some(1))).expect("there is room");
            assert!(ample.wait_idle(IDLE_TIMEOUT));
            ample.stats().used_bytes
        };
        let budget_bytes = used_bytes * 6 / 5;
        let before = LIVE_BYTES.load(Ordering::Relaxed);
        PEAK_BYTES.store(before, Ordering::Relaxed);
        let manager = manager(budget_bytes, PolicyKind::Benefit);
        let handle = manager.register(table.spec(Some(1))).expect("there is room");
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        let stats = manager.stats();
        assert_eq!(stats.loads, 6 * segments, "{stats:?}");
        assert!(stats.load_reads <= 12, "{} reads for one table", stats.load_reads);
        let peak_bytes = PEAK_BYTES.load(Ordering::Relaxed) - before;
        // Threads and what the caller hands over are not in the budget.
        assert!(peak_bytes <= budget_bytes * 21 / 20, "{peak_bytes} bytes of a budget of {budget_bytes}");
        println!(
            "{segments} segments of {keys} keys: {peak_bytes} of {budget_bytes} bytes, {} reads",
            stats.load_reads
        );
        drop(handle);
    }
}
