//! An allocator that counts the requests of each thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static REQUESTED: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// The system's allocator, counting.
pub(crate) struct CountingAllocator;

// SAFETY: every call goes to the system's allocator unchanged; counting touches a thread-local `Cell` without a destructor, which
// neither allocates nor unwinds.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (calls, bytes) = REQUESTED.get();
        REQUESTED.set((calls + 1, bytes + layout.size()));
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` comes from `alloc`, which took it from `System` with the same layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Allocations and bytes that this thread requests while `work` runs.
pub(crate) fn requested_during<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let (calls_before, bytes_before) = REQUESTED.get();
    let result = work();
    let (calls, bytes) = REQUESTED.get();
    (result, calls - calls_before, bytes - bytes_before)
}
