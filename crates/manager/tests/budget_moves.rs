//! Budgets at both ends, and what is left of the first one when another is set.

mod common;

use common::{IDLE_TIMEOUT, MemoryTable, key, manager, table_use};
use std::sync::mpsc;
use std::time::Duration;

use springbloom_filter::KeyDigest;
use springbloom_manager::{
    BytewiseComparator, Manager, MemoryBudget, Outcome, Stats, TableHandle, TableId, UsedBytes,
};
use springbloom_published_policies::PolicyKind;

const SEGMENTS: u64 = 8;
const KEYS: u64 = 1000;
const TIB: usize = 1 << 40;

/// Looks up absent keys and gives the share of wasted reads among the last quarter.
fn wasted_share(manager: &Manager, handle: &TableHandle, lookups: u64) -> f64 {
    let mut wasted = 0;
    for n in 0..lookups {
        let sought = key(1, n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (SEGMENTS * KEYS) * 2 + 1);
        let segment = handle.segment_of(&sought, &BytewiseComparator);
        let outcome = handle.rejection(segment, KeyDigest::of(&sought)).unwrap_or(Outcome::WastedRead);
        handle.record(segment, outcome);
        wasted += u64::from(outcome == Outcome::WastedRead && n >= lookups * 3 / 4);
        assert!(n % 100 != 0 || manager.wait_idle(IDLE_TIMEOUT));
    }
    wasted as f64 / (lookups / 4) as f64
}

#[test]
fn a_budget_that_is_raised_teaches_the_policy_like_one_that_was_large_at_once() {
    let table = MemoryTable::new(1, SEGMENTS, KEYS);
    let large = 1 << 20;
    let at_once = {
        let manager = manager(large, PolicyKind::Benefit);
        let handle = manager.register(table.spec(Some(1))).expect("there is room");
        wasted_share(&manager, &handle, 40_000)
    };
    for small in [0, 64, 5000, 10_000, 20_000] {
        let manager = manager(small, PolicyKind::Benefit);
        // What was refused is registered again when there is room. This thread has noted visits by then where it was not.
        if let Some(handle) = manager.register(table.spec(Some(1))) {
            wasted_share(&manager, &handle, 4000);
        }
        assert_eq!(manager.set_budget_bytes(large), large);
        let handle = manager.register(table.spec(Some(1))).expect("there is room now");
        let raised = wasted_share(&manager, &handle, 40_000);
        println!("raised from {small}: {raised} of the reads wasted, {at_once} where it was large at once");
        assert!(raised <= at_once + 0.01, "{raised} raised from {small}, {at_once} at once");
    }
}

#[test]
fn visits_noted_under_no_budget_are_learned_from_when_there_is_one() {
    let table = MemoryTable::new(1, SEGMENTS, KEYS);
    let manager = manager(64 << 10, PolicyKind::Benefit);
    let handle = manager.register(table.spec(Some(1))).expect("there is room");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            manager.set_budget_bytes(0);
            // Batches come back as those of a smaller budget, if at all.
            wasted_share(&manager, &handle, 4000);
            manager.set_budget_bytes(1 << 20);
            let visits = || -> f32 {
                let segments = table_use(&manager, table.spec(None).id).unwrap();
                segments.iter().map(|segment| segment.hotness.access_count).sum()
            };
            let before = visits();
            wasted_share(&manager, &handle, 20_000);
            assert!(visits() > before + 1000.0, "{before} visits became {}", visits());
        });
    });
}

#[test]
fn a_huge_budget_takes_nothing_before_it_is_used() {
    for built_huge in [true, false] {
        let manager = manager(if built_huge { TIB } else { 1 << 20 }, PolicyKind::Benefit);
        assert_eq!(manager.set_budget_bytes(TIB), TIB);
        let table = MemoryTable::new(1, SEGMENTS, KEYS);
        let handle = manager.register(table.spec(Some(1))).expect("there is room");
        wasted_share(&manager, &handle, 100_000);
        let stats = manager.stats();
        assert!(stats.used_bytes < 1 << 20, "{:?}", stats.used);
    }
}

#[test]
fn no_budget_is_larger_than_what_can_be_addressed() {
    for asked in [MemoryBudget::BUDGET_BYTES_MAX + 1, usize::MAX] {
        let manager = manager(asked, PolicyKind::Benefit);
        assert_eq!(manager.stats().budget_bytes, MemoryBudget::BUDGET_BYTES_MAX);
        assert_eq!(manager.set_budget_bytes(0), manager.stats().used_bytes);
        assert_eq!(manager.set_budget_bytes(asked), MemoryBudget::BUDGET_BYTES_MAX);
        assert!(manager.stats().used_bytes < 1 << 20);
    }
}

/// Waits for a budget that falls by itself.
fn falls_until(manager: &Manager, is_reached: impl Fn(&Stats) -> bool) {
    let is_in_time = (0..2000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        is_reached(&manager.stats())
    });
    assert!(is_in_time, "{:?}", manager.stats());
}

#[test]
fn nothing_stays_in_use_of_a_budget_that_is_lowered_to_nothing() {
    let manager = manager(64 << 20, PolicyKind::Benefit);
    for _ in 0..3 {
        let table = MemoryTable::new(1, SEGMENTS, KEYS);
        let handle = manager.register(table.spec(Some(1))).expect("there is room");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| wasted_share(&manager, &handle, 4000));
            }
        });
        drop(handle);
        manager.forget(TableId(1));
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        let before = manager.stats().used_bytes;
        // The background thread may hold a batch just now.
        let reached = manager.set_budget_bytes(0);
        falls_until(&manager, |stats| stats.budget_bytes == 0);
        let stats = manager.stats();
        assert_eq!((stats.used_bytes, stats.used), (0, UsedBytes::default()), "{before} before");
        println!("{before} bytes before, {reached} at once, none then");
        assert_eq!(manager.set_budget_bytes(64 << 20), 64 << 20);
    }
}

#[test]
fn a_budget_that_could_not_be_reached_falls_as_bytes_come_free() {
    let table = MemoryTable::new(1, SEGMENTS, KEYS);
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let handle = manager.register(table.spec(Some(1))).expect("there is room");
    let (looked_up, has_looked_up) = mpsc::channel();
    let (end, ends) = mpsc::channel::<()>();
    let (of_thread, table_of_thread) = (&manager, &handle);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            wasted_share(of_thread, table_of_thread, 4000);
            looked_up.send(()).unwrap();
            let _ = ends.recv();
        });
        has_looked_up.recv().unwrap();
        let with_table = manager.set_budget_bytes(0);
        let used = manager.stats().used;
        assert!(with_table >= used.bookkeeping + used.buffers && used.units == 0, "{used:?}");
        assert!(used.buffers > 0, "of the thread");
        manager.forget(TableId(1));
        drop(end);
    });
    // What is left is kept for a reader of the table.
    falls_until(&manager, |stats| stats.used.buffers == 0 && stats.budget_bytes == stats.used.bookkeeping);
    assert!(manager.stats().budget_bytes > 0);
    drop(handle);
    falls_until(&manager, |stats| stats.budget_bytes == 0);
}
