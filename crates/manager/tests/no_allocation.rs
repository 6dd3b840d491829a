//! A lookup allocates nothing after its thread's first one: counted by the process's allocator. (It may free: a group that was
//! replaced while it was probed.)

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::{IDLE_TIMEOUT, MemoryTable, key, manager};
use springbloom_filter::KeyDigest;
use springbloom_manager::{BytewiseComparator, Outcome};
use springbloom_published_policies::PolicyKind;

struct Counting;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn lookups_do_not_allocate() {
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let table = MemoryTable::new(1, 8, 1000);
    let handle = manager.register(table.spec(Some(1))).unwrap();
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let look_up = |n: u64| {
        let sought = key(1, n);
        let digest = KeyDigest::of(&sought);
        let answer = handle.may_match(&sought, digest, &BytewiseComparator);
        if answer.may_match() {
            handle.record(answer.segment, Outcome::WastedRead);
        }
        !matches!(answer.rejection, Some(Outcome::Rejected | Outcome::RejectedByLast))
    };
    look_up(1);
    let batch: Vec<_> =
        (0..32u64).map(|n| (n as u32 / 4, KeyDigest::of(&key(1, 2 * 1000 * (n / 4) + n)))).collect();
    let before = CALLS.get();
    // Many batches, more than the pool holds, with the background thread at work on them.
    let passed = (0..200_000u64).filter(|n| look_up(2 * (n % 8000) + 1)).count();
    assert_eq!(CALLS.get(), before, "allocations on the lookup path");
    let mut told = 0;
    (0..1000).for_each(|_| handle.rejections(&batch, |_, _| told += 1));
    assert_eq!((told, CALLS.get()), (32_000, before), "allocations of batches");
    assert!(passed < 100_000);
}
