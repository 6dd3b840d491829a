//! What the manager's thread does while there is no room for what it should read: next to nothing. One test, as it looks at the
//! processor time of the manager's thread among all threads of the process.
#![cfg(target_os = "linux")]

mod common;

use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, MemoryTable, key, manager};
use springbloom_filter::KeyDigest;
use springbloom_manager::{BytewiseComparator, Manager, MemoryKind, Outcome, Reservation, TableHandle};
use springbloom_published_policies::PolicyKind;

const TABLES: u64 = 60;
const SEGMENTS: u64 = 4;
const KEYS: u64 = 2000;

/// Processor time of the manager's thread so far.
fn thread_cpu_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        (name.trim() == "springbloom").then(|| times.split(' ').next()?.parse::<u64>().ok())?
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Looks up absent keys of these tables.
fn look_up(manager: &Manager, handles: &[TableHandle], tables: u64, lookups: u64) {
    for n in 0..lookups {
        let table = n % tables;
        let sought = key(table, n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (SEGMENTS * KEYS) * 2 + 1);
        let handle = &handles[table as usize];
        let segment = handle.segment_of(&sought, &BytewiseComparator);
        let outcome = handle.rejection(segment, KeyDigest::of(&sought)).unwrap_or(Outcome::WastedRead);
        handle.record(segment, outcome);
        assert!(n % 500 != 0 || manager.wait_idle(IDLE_TIMEOUT));
    }
}

/// All that can be had, piece by piece.
fn take_all(take: impl Fn(usize) -> Option<Reservation>) -> Vec<Reservation> {
    let sizes = [64 << 10, 16 << 10, 4 << 10, 1 << 10, 256, 64];
    sizes.into_iter().flat_map(|bytes| std::iter::from_fn(|| take(bytes)).collect::<Vec<_>>()).collect()
}

fn bytes_of(reservations: &[Reservation]) -> usize {
    reservations.iter().map(Reservation::bytes).sum()
}

/// The most that the thread may take of a core when there is nothing that it could do. It takes a tenth of that; one that tries over and
/// over takes all of the core.
const IDLE_SHARE_MAX: f64 = 0.03;

/// Asserts that the thread takes next to nothing of the processor while nothing happens. One of several seconds is enough: a virtual
/// machine that is short of processors may count as the thread's what others took. One that spins does so in each of them.
fn assert_rests(why: &str) {
    let mut shares = Vec::new();
    while shares.last().is_none_or(|share| *share >= IDLE_SHARE_MAX) {
        assert!(shares.len() < 5, "{why}: {shares:?} of a core");
        let (cpu, begun) = (thread_cpu_time(), Instant::now());
        std::thread::sleep(Duration::from_secs(1));
        shares.push((thread_cpu_time() - cpu).as_secs_f64() / begun.elapsed().as_secs_f64());
    }
    println!("{why}: {shares:.4?} of a core");
}

#[test]
fn the_thread_rests_while_others_hold_the_bytes_for_its_reads() {
    let manager = manager(512 << 10, PolicyKind::Benefit);
    let tables: Vec<_> = (0..TABLES).map(|id| MemoryTable::new(id, SEGMENTS, KEYS)).collect();
    let handles: Vec<_> = tables.iter().map(|table| manager.register(table.spec(Some(2))).unwrap()).collect();
    look_up(&manager, &handles, TABLES, 100_000);
    assert_rests("nothing to do");

    // A host that takes what is planned, behind the manager's back.
    let held = take_all(|bytes| manager.budget().try_reserve(MemoryKind::Loading, bytes));
    for handle in &handles[3..13] {
        (0..400).for_each(|n| handle.record(n % SEGMENTS as u32, Outcome::WastedRead));
        assert!(manager.wait_idle(IDLE_TIMEOUT), "it learns");
    }
    let begun = Instant::now();
    assert!(manager.wait_idle(IDLE_TIMEOUT), "it would wait forever");
    println!("idle in {:?} with {} bytes held", begun.elapsed(), bytes_of(&held));
    assert_rests("nothing that could be done");
    let loads = manager.stats().loads;
    drop(held);
    let begun = Instant::now();
    while manager.stats().loads == loads {
        assert!(begun.elapsed() < IDLE_TIMEOUT, "it goes on when there is room");
        std::thread::sleep(Duration::from_millis(10));
    }
}
