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

/// Four classes to a factor of two. A block keeps its class until half of it is free, as mimalloc and TCMalloc have it.
struct SizeClasses;

fn class_of(bytes: usize) -> usize {
    match bytes {
        0..=128 => bytes.next_multiple_of(16).max(16),
        _ => bytes.next_multiple_of(bytes.next_power_of_two() / 8),
    }
}

/// Bytes in front of a block, which end with its class.
fn front(layout: Layout) -> usize {
    layout.align().max(16)
}

/// # Safety
/// The block is one of ours.
unsafe fn class_at(block: *mut u8) -> usize {
    // SAFETY: the class lies right in front of the block.
    unsafe { block.cast::<usize>().sub(1).read() }
}

fn whole(layout: Layout, class: usize) -> Layout {
    Layout::from_size_align(front(layout) + class, front(layout)).expect("a little more than a layout is one")
}

// SAFETY: the system's allocator is asked for more, and given back just that.
unsafe impl GlobalAlloc for SizeClasses {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let class = class_of(layout.size());
        LIVE_BYTES.fetch_add(class as isize, Ordering::Relaxed);
        // SAFETY: it is not of size zero, and the class and the block lie within it.
        unsafe {
            let begin = System.alloc(whole(layout, class));
            assert!(!begin.is_null(), "no memory");
            let block = begin.add(front(layout));
            block.cast::<usize>().sub(1).write(class);
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: it was allocated with such a layout.
        unsafe {
            let class = class_at(block);
            LIVE_BYTES.fetch_sub(class as isize, Ordering::Relaxed);
            System.dealloc(block.sub(front(layout)), whole(layout, class));
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: both blocks have room for what is copied.
        unsafe {
            if (class_at(block) / 2..=class_at(block)).contains(&bytes) {
                return block;
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(bytes, layout.align()));
            moved.copy_from_nonoverlapping(block, bytes.min(layout.size()));
            self.dealloc(block, layout);
            moved
        }
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
        assert!(manager.stats().used_bytes > budget_bytes / 2, "{:?}", manager.stats());
        // Groups shrink.
        let budget_bytes = manager.set_budget_bytes(budget_bytes / 4 * 3);
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
