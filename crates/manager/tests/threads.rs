//! What threads that look up keep is in the budget: no less than the process allocates for them. One test, so that nobody else allocates.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Barrier;
use std::sync::atomic::{AtomicIsize, Ordering};

use common::{IDLE_TIMEOUT, MemoryTable, key};
use springbloom_filter::KeyDigest;
use springbloom_manager::{Manager, ManagerSettings, Outcome, TableHandle, set_host_bytes_of_thread};

static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);

struct Counting;

/// As glibc's malloc rounds them.
fn taken(layout: Layout) -> isize {
    let aligned = if layout.align() > 16 { layout.align() } else { 0 };
    (layout.size() + aligned + 8).next_multiple_of(16).max(32) as isize
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

const THREADS: usize = 40;
/// What the host keeps for each.
const HOST_BYTES: usize = 6000;

fn look_up(handle: &TableHandle, n: u64) {
    let sought = key(1, n * 2 + 1);
    let outcome = handle.rejection(0, KeyDigest::of(&sought)).unwrap_or(Outcome::WastedRead);
    handle.record(0, outcome);
}

#[test]
fn what_threads_keep_is_in_the_budget() {
    let table = MemoryTable::new(1, 1, 4000);
    let manager = Manager::new(ManagerSettings { budget_bytes: 64 << 20, ..ManagerSettings::default() });
    let handle = manager.register(table.spec(Some(1))).unwrap();
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let [there, started, looked_up, over] = [(); 4].map(|()| Barrier::new(THREADS + 1));
    let buffers = || manager.stats().used.buffers as isize;
    let before = buffers();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    there.wait();
                    started.wait();
                    set_host_bytes_of_thread(HOST_BYTES);
                    look_up(&handle, 1);
                    looked_up.wait();
                    over.wait();
                })
            })
            .collect();
        // Now all of them have allocated what any thread does.
        there.wait();
        let live = LIVE_BYTES.load(Ordering::Relaxed);
        started.wait();
        looked_up.wait();
        let (allocated, counted) = (LIVE_BYTES.load(Ordering::Relaxed) - live, buffers() - before);
        // Nothing is asserted before: the threads would wait forever.
        over.wait();
        println!(
            "{THREADS} threads keep {allocated} bytes; {counted} counted, with {HOST_BYTES} of the host for each"
        );
        let of_the_host = (THREADS * HOST_BYTES) as isize;
        assert!(allocated <= counted - of_the_host, "{allocated} bytes, {counted} counted");
        // The end of the scope alone does not wait for what is local to the threads.
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(buffers(), before, "threads ended and their bytes are there again");

    // Where all bytes have a use, units make room; and where threads keep more than a 128th, units stay.
    for (threads, budget_bytes, tables) in [(1, 1 << 20, 120), (THREADS, 192 << 10, 30)] {
        let manager = Manager::new(ManagerSettings { budget_bytes, ..ManagerSettings::default() });
        let tables: Vec<_> = (0..tables).map(|id| MemoryTable::new(id, 1, 4000)).collect();
        let handles: Vec<_> =
            tables.iter().filter_map(|table| manager.register(table.spec(Some(1)))).collect();
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        let full = manager.stats().used.units;
        std::thread::scope(|scope| {
            let run = || {
                scope.spawn(|| {
                    set_host_bytes_of_thread(HOST_BYTES);
                    for n in 0..20_000 {
                        look_up(&handles[n as usize % handles.len()], n % 4000);
                        assert!(n % 100 != 0 || manager.wait_idle(IDLE_TIMEOUT));
                    }
                    let stats = manager.stats();
                    let is_paid = stats.unpaid_bytes == 0;
                    // Some units may be on their way from one segment to another just now.
                    let units_min = if threads > 1 { full / 3 * 2 } else { budget_bytes / 3 };
                    assert!(
                        stats.used.buffers < budget_bytes / 3 && stats.used.units > units_min,
                        "{full} bytes of units before: {stats:?}"
                    );
                    assert!(is_paid || threads > 1, "{full} bytes of units made no room: {stats:?}");
                })
            };
            let running: Vec<_> = (0..threads).map(|_| run()).collect();
            running.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let stats = manager.stats();
        assert!(stats.unpaid_bytes == 0 && stats.peak_bytes <= budget_bytes, "{stats:?}");
    }
}
