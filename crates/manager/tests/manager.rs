//! One manager from the outside: tables come and go, units follow use, faults cost reads and nothing else.

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, LOCATOR, MemoryTable, closed_tables, key, manager, table_use};
use springbloom_filter::KeyDigest;
use springbloom_manager::{
    BytewiseComparator, Manager, ManagerSettings, Outcome, Stats, TableHandle, TableId, TableSpec,
};
use springbloom_published_policies::PolicyKind;

/// Looks up key `n` of the table (odd ones are absent) and reports how it went, as a host does.
fn look_up(handle: &TableHandle, table: &MemoryTable, n: u64) -> Outcome {
    let sought = key(table.key_space, n);
    let segment = handle.segment_of(&sought, &BytewiseComparator);
    let outcome = if handle.rejection(segment, KeyDigest::of(&sought)).is_some() {
        assert!(!n.is_multiple_of(2), "false negative for {n}");
        Outcome::Rejected
    } else if n.is_multiple_of(2) {
        Outcome::TruePositive
    } else {
        Outcome::WastedRead
    };
    handle.record(segment, outcome);
    outcome
}

#[test]
fn what_the_host_keeps_is_in_the_budget_as_long_as_it_does() {
    const MORE: usize = 4992; // a multiple of the steps of glibc's allocator
    const LONG: &[u8] = &[7; LOCATOR.len() + MORE];
    let table = MemoryTable::new(1, 8, 10);
    let hosted = || TableSpec { locator: LONG, ..table.spec(Some(1)) };
    let manager = Manager::new(ManagerSettings {
        budget_bytes: 1 << 16,
        reader_bytes: 700,
        ..ManagerSettings::default()
    });
    let used = || manager.stats().used.bookkeeping;
    let before = used();
    let without = manager.register(table.spec(Some(1))).expect("room");
    let own_bytes = used() - before - 700;
    drop(without);
    assert_eq!(used(), before + own_bytes);
    manager.forget(TableId(table.id));
    assert_eq!(used(), before);
    let reader = manager.register(hosted()).expect("room");
    let hosted_bytes = used() - before - 700;
    let asked = own_bytes + MORE;
    // A sanitizer's allocator has size classes.
    let most = if cfg!(sanitized) { asked + asked / 4 } else { asked };
    assert!((asked..=most).contains(&hosted_bytes), "{hosted_bytes} bytes counted for {asked}");
    let readers = [reader, manager.register(hosted()).expect("room")];
    assert_eq!(used(), before + hosted_bytes + 2 * 700);
    let more: Vec<_> = std::iter::from_fn(|| manager.register(hosted())).collect();
    // A 16th of the budget stays for all else, and at most 640 bytes for a few units of each segment.
    let most = (1 << 16) - (1 << 12);
    assert!((most - 640 - 700..=most).contains(&used()), "what is left is for units: {}", used());
    drop((readers, more));
    assert_eq!(used(), before + hosted_bytes);
    manager.forget(TableId(table.id));
    assert_eq!(used(), before);
}

#[test]
fn a_source_is_kept_as_long_as_one_of_its_tables() {
    let table = MemoryTable::new(1, 2, 100);
    let held = |table: &Arc<MemoryTable>| Arc::strong_count(table);
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let spec = |id| TableSpec { id: TableId(id), ..table.spec(Some(1)) };
    let [first, second] = [1, 2].map(|id| manager.register(spec(id)).unwrap());
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    assert_eq!(held(&table), 2, "one for both");
    manager.forget_closed(TableId(1));
    assert!(manager.knows(TableId(1)), "it is open");
    manager.forget(TableId(1));
    assert!(!manager.knows(TableId(1)));
    drop(second);
    manager.forget_closed(TableId(2));
    assert!(!manager.knows(TableId(2)));
    let other = MemoryTable::new(3, 1, 1);
    drop((first, manager.register(other.spec(None)).unwrap()));
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    assert_eq!(held(&table), 1, "nobody has a table of it any more");
}

#[test]
fn segments_of_a_few_keys_get_all_their_units() {
    // One word a unit: every second unit fits the allocator's rounding of the one before.
    let table = MemoryTable::new(1, 8, 10);
    for policy in [PolicyKind::Uniform, PolicyKind::Monkey, PolicyKind::MultiQueue] {
        let manager = manager(1 << 20, policy);
        let handle = manager.register(table.spec(Some(1))).unwrap();
        for _ in 0..20 {
            (0..160).for_each(|n| _ = look_up(&handle, &table, n));
            assert!(manager.wait_idle(IDLE_TIMEOUT));
        }
        assert_eq!(manager.stats().levels[0].segments, [0, 0, 0, 0, 0, 0, 8], "{policy}");
    }
}

#[test]
fn units_come_where_reads_are_wasted_under_every_policy() {
    for policy in PolicyKind::ALL {
        let manager = manager(1 << 20, policy);
        let table = MemoryTable::new(1, 8, 1000);
        let handle = manager.register(table.spec(Some(3))).expect("there is room");
        assert!(manager.wait_idle(IDLE_TIMEOUT), "{policy}");
        let stats = manager.stats();
        assert_eq!(stats.levels[0].segments.first().copied().unwrap_or(0), 0, "{policy}: {stats:?}");
        for round in 0..4 {
            for n in 0..16_000 {
                look_up(&handle, &table, n);
                // A burst of more visits than there are buffers for would be a sample, and a scan's is one-sided.
                assert!(n % 1000 != 0 || manager.wait_idle(IDLE_TIMEOUT), "{policy} round {round}");
            }
        }
        let wasted = (0..16_000).filter(|&n| look_up(&handle, &table, n) == Outcome::WastedRead).count();
        assert!(
            wasted < 80,
            "{policy}: {wasted} reads wasted with room for all units: {:?}",
            manager.stats()
        );
        let stats = manager.stats();
        assert!(stats.used_bytes <= stats.budget_bytes && stats.peak_bytes <= stats.budget_bytes);
        assert_eq!(stats.outcomes.true_positives, 5 * 8000, "{policy}");
        assert_eq!(stats.outcomes.rejected + stats.outcomes.wasted_reads, 5 * 8000, "{policy}");
        assert!(stats.load_reads <= stats.loads);
        assert_eq!(stats.thread_panics, 0, "{policy}");
        drop(handle);
        assert_eq!(closed_tables(&manager).len(), 1);
        manager.forget(closed_tables(&manager)[0]);
        let stats = manager.stats();
        assert_eq!((stats.used.units, stats.used.garbage, stats.used.loading), (0, 0, 0), "{policy}");
    }
}

#[test]
fn a_reopened_table_finds_its_units() {
    let manager = manager(1 << 20, PolicyKind::MultiQueue);
    let table = MemoryTable::new(1, 4, 500);
    let handle = manager.register(table.spec(Some(1))).unwrap();
    (0..4000).for_each(|n| _ = look_up(&handle, &table, n));
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let before = manager.stats();
    let reads = table.reads.load(Ordering::Relaxed);
    drop(handle);
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let handle = manager.register(table.spec(Some(1))).unwrap();
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let after = manager.stats();
    assert_eq!((before.levels, before.loads), (after.levels, after.loads));
    assert_eq!(reads, table.reads.load(Ordering::Relaxed));
    assert!((0..4000).any(|n| look_up(&handle, &table, n) == Outcome::Rejected));
}

#[test]
fn units_of_a_table_are_read_while_no_reader_has_it_open() {
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let table = MemoryTable::new(1, 4, 500);
    let handle = manager.register(table.spec(Some(1))).unwrap();
    (0..4000).for_each(|n| _ = look_up(&handle, &table, n));
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    drop(handle);
    assert_eq!(closed_tables(&manager).len(), 1);
    let unit_bytes = manager.stats().used.units;
    manager.set_budget_bytes(6_500);
    assert!(manager.stats().used.units < unit_bytes, "it takes units away");
    assert!(manager.wait_idle(IDLE_TIMEOUT), "what finds no room is given up");
    let loads = manager.stats().loads;
    manager.set_budget_bytes(1 << 20);
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    assert!(manager.stats().loads > loads, "units are read though no reader has the table open");
    let visits = || -> f32 {
        let segments = table_use(&manager, TableId(table.id)).unwrap();
        segments.iter().map(|segment| segment.hotness.access_count).sum()
    };
    let before = visits();
    let handle = manager.register(table.spec(Some(1))).unwrap();
    (0..200).for_each(|n| handle.record(n % 4, Outcome::WastedRead));
    drop(handle);
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    assert!(visits() > before + 100.0, "visits are taken in after the reader has closed");
}

#[test]
fn no_room_for_bookkeeping_is_no_filters() {
    for budget_bytes in [0, 100, 5000] {
        let manager = manager(budget_bytes, PolicyKind::Benefit);
        let table = MemoryTable::new(1, 100, 50);
        assert!(manager.register(table.spec(Some(1))).is_none());
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        assert!(manager.stats().used_bytes <= budget_bytes);
        assert_eq!(manager.stats().refused_tables, 1);
    }
}

#[test]
fn faults_of_a_source_cost_reads_only() {
    for policy in PolicyKind::ALL {
        let manager = manager(1 << 20, policy);
        let tables: Vec<_> = (1..=3).map(|id| MemoryTable::new(id, 1, 2000)).collect();
        tables[0].fail.store(true, Ordering::Relaxed);
        tables[1].corrupt.store(true, Ordering::Relaxed);
        tables[2].panic.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        let handles: Vec<_> =
            tables.iter().map(|table| manager.register(table.spec(Some(1))).unwrap()).collect();
        for _ in 0..20 {
            for (table, handle) in tables.iter().zip(&handles) {
                (0..2000).for_each(|n| _ = look_up(handle, table, n));
            }
            assert!(manager.wait_idle(IDLE_TIMEOUT), "{policy}");
        }
        let stats = manager.stats();
        assert_eq!(stats.used.units, 0, "{policy}: {stats:?}");
        assert_eq!(stats.thread_panics, 0, "{policy}: a source's panic is a failed read");
        let tries = 1 + begun.elapsed().as_secs();
        assert!((1..=tries).contains(&stats.corrupt_units), "{policy}: {tries} tries at most: {stats:?}");
        assert!(stats.failed_reads >= 2, "{policy}: {stats:?}");
    }
}

/// Looks up keys of a table of eight segments in rounds until `done`: how much a round moves depends on how the threads take turns.
fn look_up_until(
    manager: &Manager,
    handle: &TableHandle,
    table: &MemoryTable,
    done: impl Fn(&Stats) -> bool,
) -> Stats {
    for _ in 0..200 {
        (0..64_000).step_by(7).for_each(|n| _ = look_up(handle, table, n));
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        if done(&manager.stats()) {
            break;
        }
    }
    manager.stats()
}

#[test]
fn a_small_budget_is_used_but_for_the_buffer_of_a_read() {
    let manager = manager(60_000, PolicyKind::Benefit);
    let table = MemoryTable::new(1, 8, 4000);
    let unit_bytes = table.groups[0].shape.unit_bytes();
    let handle = manager.register(table.spec(Some(1))).unwrap();
    // A unit is read into a buffer. The rest is too little for that and the buffers of the visits.
    let used_bytes_min = 60_000 - 3 * unit_bytes;
    let has_large_groups = |stats: &Stats| stats.levels[0].segments.len() > 3;
    let stats = look_up_until(&manager, &handle, &table, |stats| {
        stats.used_bytes > used_bytes_min && has_large_groups(stats)
    });
    assert!(stats.used_bytes > used_bytes_min && has_large_groups(&stats), "{stats:?}");
    assert_eq!((stats.thread_panics, stats.failed_reads), (0, 0), "{stats:?}");
    assert_eq!(stats.load_reads, table.reads.load(Ordering::Relaxed));
}

#[test]
fn a_group_that_fails_while_it_is_read_into_its_place_comes_back() {
    // Three units and the buffer for another one take most of the budget: there is no room for a copy.
    const BUDGET_BYTES: usize = 16_000;
    let table = MemoryTable::new(1, 1, 4000);
    let manager = manager(BUDGET_BYTES, PolicyKind::Benefit);
    let handle = manager.register(table.spec(Some(1))).unwrap();
    let look_up_until = |done: &dyn Fn(&Stats) -> bool| {
        let begun = Instant::now();
        while !done(&manager.stats()) && begun.elapsed() < IDLE_TIMEOUT {
            (0..8000).step_by(7).for_each(|n| _ = look_up(&handle, &table, n));
            manager.wait_idle(Duration::from_millis(100)); // not idle while reads fail
        }
        assert!(done(&manager.stats()), "{:?}", manager.stats());
    };
    let are_resident = |stats: &Stats| stats.levels[0].segments.len() > 3;
    look_up_until(&are_resident);
    table.fail.store(true, Ordering::Relaxed);
    manager.set_budget_bytes(BUDGET_BYTES / 2);
    manager.set_budget_bytes(BUDGET_BYTES);
    look_up_until(&|stats| stats.failed_reads > 0);
    table.fail.store(false, Ordering::Relaxed);
    look_up_until(&are_resident);
    let stats = manager.stats();
    assert!(stats.thread_panics == 0 && stats.peak_bytes <= BUDGET_BYTES, "{stats:?}");
}

#[test]
fn a_lowered_budget_holds_when_the_call_returns() {
    for policy in PolicyKind::ALL {
        let manager = manager(4 << 20, policy);
        let table = MemoryTable::new(1, 64, 1000);
        let handle = manager.register(table.spec(Some(2))).unwrap();
        for _ in 0..3 {
            (0..128_000).step_by(7).for_each(|n| _ = look_up(&handle, &table, n));
            assert!(manager.wait_idle(IDLE_TIMEOUT));
        }
        let mut seen = usize::MAX;
        for budget_bytes in [300_000, 150_000, 100_000] {
            assert_eq!(
                manager.set_budget_bytes(budget_bytes),
                budget_bytes,
                "{policy}: {:?}",
                manager.stats()
            );
            let stats = manager.stats();
            assert!(stats.used_bytes <= budget_bytes, "{policy}");
            assert!(stats.used.units <= seen, "{policy}");
            seen = stats.used.units;
            assert!(manager.wait_idle(IDLE_TIMEOUT));
        }
        assert_eq!(manager.stats().thread_panics, 0, "{policy}");
        let floor = manager.set_budget_bytes(0);
        let stats = manager.stats();
        assert_eq!(stats.used.units, 0, "{policy}");
        assert_eq!(floor, stats.used_bytes, "{policy}: only bookkeeping and buffers are left");
        assert_eq!(manager.set_budget_bytes(4 << 20), 4 << 20);
        for n in (0..128_000).step_by(7) {
            look_up(&handle, &table, n);
            assert!(n % 1000 != 0 || manager.wait_idle(IDLE_TIMEOUT), "{policy}");
        }
        assert!(manager.stats().used.units > 32 * 500, "{policy}: {:?}", manager.stats());
    }
}

#[test]
fn the_output_of_a_compaction_inherits_the_use_of_its_inputs() {
    for policy in [PolicyKind::MultiQueue, PolicyKind::Benefit] {
        let input = MemoryTable::new(1, 8, 4000);
        // Room for about two units of each segment, in addition to the bookkeeping.
        let manager = manager(16 * (input.row_bytes() / 8 + 120) + 12_000, policy);
        let handle = manager.register(input.spec(Some(4))).unwrap();
        for n in 0..20_000u64 {
            look_up(&handle, &input, 2 * (n % 500) + 1); // absent keys of the first segment, 500 of them
            assert!(n % 500 != 0 || manager.wait_idle(IDLE_TIMEOUT));
        }
        let units = |level: u8| {
            let stats = manager.stats();
            stats.levels.iter().find(|units| units.level == Some(level)).unwrap().segments.clone()
        };
        assert!(units(4).len() > 3, "{policy}: one segment is hot: {:?}", units(4));
        let output = MemoryTable::over_keys_of(1, 2, 8, 4000);
        let handle = manager.register(output.spec(Some(5))).unwrap();
        drop(handle);
        manager.forget(input.spec(None).id);
        let handle = manager.register(output.spec(Some(5))).unwrap();
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        assert!(units(5).len() > 2, "{policy}: {:?}", units(5));
        assert_eq!(units(5)[units(5).len() - 1], 1, "{policy}: the hot one, and no other: {:?}", units(5));
        let wasted = (0..500).filter(|n| look_up(&handle, &output, 2 * n + 1) == Outcome::WastedRead).count();
        assert!(wasted < 60, "{policy}: {wasted} of 500");
    }
}

#[test]
fn without_inheritance_the_output_of_a_compaction_starts_unused() {
    let use_of_output = |inherit_hotness| {
        let settings =
            ManagerSettings { budget_bytes: 1 << 20, inherit_hotness, ..ManagerSettings::default() };
        // The one policy that gives a new table no prior.
        let manager = PolicyKind::MultiQueue.manager(settings);
        let input = MemoryTable::new(1, 8, 100);
        let handle = manager.register(input.spec(Some(4))).unwrap();
        (0..500).for_each(|_| handle.record(3, Outcome::WastedRead));
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        let output = MemoryTable::over_keys_of(1, 2, 8, 100);
        let _handle = manager.register(output.spec(Some(5))).unwrap();
        let segments = table_use(&manager, output.spec(None).id).unwrap();
        segments.into_iter().map(|segment| segment.hotness.access_count).collect::<Vec<_>>()
    };
    let inherited = use_of_output(true);
    assert!(inherited[3] > 100.0 && inherited[0] == 0.0, "{inherited:?}");
    assert_eq!(use_of_output(false), [0.0; 8]);
}

#[test]
fn a_table_that_moves_to_another_level_is_planned_and_counted_there() {
    let (small, large) = (MemoryTable::new(1, 2, 1000), MemoryTable::new(2, 64, 1000));
    // Room for about three units of each segment, in addition to the bookkeeping.
    let manager = manager(3 * (small.row_bytes() + large.row_bytes()) + 30_000, PolicyKind::Monkey);
    let _small = manager.register(small.spec(Some(1))).unwrap();
    let _large = manager.register(large.spec(Some(2))).unwrap();
    let levels = || {
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        let levels = manager.stats().levels;
        levels.into_iter().map(|level| (level.level.unwrap(), level.segments)).collect::<Vec<_>>()
    };
    let before = levels();
    assert_eq!((before[0].0, before[1].0), (1, 2));
    assert!(before[0].1.len() > before[1].1.len(), "the smaller run has more units: {before:?}");
    let together = |levels: &[(u8, Vec<u64>)]| {
        // One run: the same number of units for every segment, or one more.
        let [(2, segments)] = levels else { panic!("one level: {levels:?}") };
        assert!(segments.iter().filter(|&&segments| segments > 0).count() <= 2, "{segments:?}");
    };
    manager.set_level(small.spec(None).id, Some(2));
    together(&levels());
    let _again = manager.register(small.spec(Some(1))).unwrap();
    assert_eq!(levels()[0], before[0], "a reader that opens the table says where it is");
    let _unknown = manager.register(small.spec(None)).unwrap();
    assert_eq!(levels()[0], before[0], "one that does not know, does not");
    manager.set_level(small.spec(None).id, Some(2));
    together(&levels());
}

#[test]
fn visits_to_a_forgotten_table_do_not_count_for_the_next_in_its_place() {
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let [first, second] = [1, 2].map(|id| MemoryTable::new(id, 2, 100));
    let handle = manager.register(first.spec(None)).unwrap();
    (0..5).for_each(|_| handle.record(0, Outcome::WastedRead));
    manager.forget(first.spec(None).id);
    let next = manager.register(second.spec(None)).unwrap();
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    // Both segments have the same prior, and nothing else.
    let visits = || {
        let segments = table_use(&manager, second.spec(None).id).unwrap();
        (segments[0].hotness.access_count, segments[1].hotness.access_count)
    };
    let (one, other) = visits();
    assert!(one == other && one > 0.0, "{one}, {other}");
    assert!(handle.rejection(0, KeyDigest::of(b"absent")).is_none(), "a forgotten table's units are gone");
    next.record(0, Outcome::WastedRead);
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let (one, other) = visits();
    assert!(one > other, "{one}, {other}");
    assert_eq!(manager.stats().outcomes.wasted_reads, 6);
}

#[test]
fn settling_ends_when_other_threads_hold_all_batches() {
    for budget_bytes in (0..64 << 10).step_by(2 << 10) {
        let manager = manager(1 << 20, PolicyKind::Benefit);
        let table = MemoryTable::new(1, 8, 1000);
        let handle = manager.register(table.spec(Some(1))).expect("there is room");
        manager.set_budget_bytes(budget_bytes);
        let noted = std::sync::Barrier::new(5);
        let idle = std::sync::Barrier::new(5);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..2000 {
                        look_up(&handle, &table, n);
                    }
                    noted.wait();
                    idle.wait();
                });
            }
            noted.wait();
            for n in 0..2000 {
                look_up(&handle, &table, n);
            }
            let is_settled = manager.wait_idle(IDLE_TIMEOUT);
            idle.wait();
            assert!(is_settled, "{budget_bytes} bytes");
        });
    }
}
