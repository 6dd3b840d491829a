//! What a manager takes of an allocator with size classes, as jemalloc and mimalloc have them: no more than it counts.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, MemoryTable, manager};
use springbloom_manager::Outcome;
use springbloom_published_policies::PolicyKind;

static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);

/// Four classes to a factor of two.
struct SizeClasses;

fn class_of(layout: Layout) -> Layout {
    let bytes = match layout.size() {
        0..=128 => layout.size().next_multiple_of(16).max(16),
        bytes => bytes.next_multiple_of(bytes.next_power_of_two() / 8),
    };
    Layout::from_size_align(bytes, layout.align()).expect("a little more than a layout is one")
}

// SAFETY: the system's allocator is asked for as much or more, and given back just that.
unsafe impl GlobalAlloc for SizeClasses {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout);
        LIVE_BYTES.fetch_add(class.size() as isize, Ordering::Relaxed);
        // SAFETY: the class is not of size zero.
        unsafe { System.alloc(class) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let class = class_of(layout);
        LIVE_BYTES.fetch_sub(class.size() as isize, Ordering::Relaxed);
        // SAFETY: it was allocated with this layout.
        unsafe { System.dealloc(pointer, class) }
    }
}

#[global_allocator]
static ALLOCATOR: SizeClasses = SizeClasses;

#[test]
fn no_more_is_taken_than_is_counted() {
    // Units of 50 B to 5 KB, so that groups are of all sizes.
    for keys in [100, 1000, 2100, 10_000] {
        let tables: Vec<_> = (0..40).map(|id| MemoryTable::new(id, 4, keys)).collect();
        let budget_bytes = 60_000 + 160 * keys as usize;
        let before = LIVE_BYTES.load(Ordering::Relaxed);
        let manager = manager(budget_bytes, PolicyKind::Benefit);
        let handles: Vec<_> = tables
            .iter()
            .map(|table| manager.register(table.spec(Some(1))).expect("there is room"))
            .collect();
        for round in 0..4000u32 {
            for handle in &handles {
                let outcome = if round % 4 == 0 { Outcome::WastedRead } else { Outcome::TruePositive };
                handle.record(round % 4, outcome);
            }
            assert!(round % 20 != 0 || manager.wait_idle(IDLE_TIMEOUT));
        }
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        let bytes = || (LIVE_BYTES.load(Ordering::Relaxed) - before, manager.stats().used_bytes as isize);
        // Not counted: the manager itself, the budget's own counters, the thread (for a moment several, if reads are slow), hash tables
        // between two sizes.
        let is_counted = |(live, used): (isize, isize)| live <= used + 10_240;
        let begun = Instant::now();
        while !is_counted(bytes()) && begun.elapsed() < IDLE_TIMEOUT {
            thread::sleep(Duration::from_millis(10));
        }
        let (live, used) = bytes();
        println!("{keys} keys: {live} bytes live, {used} counted of {budget_bytes}");
        assert!(used > budget_bytes as isize / 2, "{:?}", manager.stats());
        assert!(is_counted((live, used)), "{live} bytes live, {used} counted");
    }
}
