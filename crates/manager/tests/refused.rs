//! A table for which there is no room leaves nothing behind: counted by the process's allocator. One test, so that nobody else allocates.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use common::{IDLE_TIMEOUT, MemoryTable, manager};
use springbloom_published_policies::PolicyKind;

static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_refused_table_leaves_nothing_behind() {
    for budget_bytes in [0, 5000] {
        let manager = manager(budget_bytes, PolicyKind::Benefit);
        let tables: Vec<_> = (0..100).map(|id| MemoryTable::new(id, 50, 5)).collect();
        let refuse_all = || {
            assert!(tables.iter().all(|table| manager.register(table.spec(Some(1))).is_none()));
            assert!(manager.wait_idle(IDLE_TIMEOUT));
        };
        refuse_all(); // warns once
        let before = LIVE_BYTES.load(Ordering::Relaxed);
        (0..10).for_each(|_| refuse_all());
        assert_eq!(LIVE_BYTES.load(Ordering::Relaxed), before, "{budget_bytes}");
        assert_eq!(manager.stats().refused_tables, 1100);
    }
}
