//! Everything at once: lookups from many threads, tables that come and go, a budget that moves, a source that fails now and then. The
//! budget holds at every instant, and no key is lost.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::{IDLE_TIMEOUT, MemoryTable, closed_tables, key};
use parking_lot::Mutex;
use springbloom_filter::KeyDigest;
use springbloom_manager::{BytewiseComparator, Manager, ManagerSettings, Outcome, TableHandle};
use springbloom_published_policies::PolicyKind;

const TABLES: u64 = 12;
const SEGMENTS: u64 = 4;
const KEYS: u64 = 300;

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

type Readers = Vec<Mutex<Option<Arc<TableHandle>>>>;

fn look_up(readers: &Readers, tables: &[Arc<MemoryTable>], state: &mut u64) -> Option<Outcome> {
    let at = (random(state) * random(state) % TABLES) as usize;
    let handle = readers[at].lock().clone()?;
    let n = random(state) % (2 * SEGMENTS * KEYS);
    let sought = key(tables[at].id, n);
    let segment = handle.segment_of(&sought, &BytewiseComparator);
    let outcome = match (handle.rejection(segment, KeyDigest::of(&sought)).is_none(), n.is_multiple_of(2)) {
        (false, true) => panic!("false negative: table {at} key {n}"),
        (false, false) => Outcome::Rejected,
        (true, true) => Outcome::TruePositive,
        (true, false) => Outcome::WastedRead,
    };
    handle.record(segment, outcome);
    Some(outcome)
}

fn soak(policy: PolicyKind, duration: Duration, seed: u64) {
    println!("{policy}, seed {seed}");
    let tables: Vec<_> = (0..TABLES).map(|id| MemoryTable::new(id, SEGMENTS, KEYS)).collect();
    let readers: Readers = tables.iter().map(|_| Mutex::new(None)).collect();
    let manager = policy.manager(ManagerSettings { budget_bytes: 64 << 10, ..Default::default() });
    let (stop, noted) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (readers, tables, stop, noted) = (&readers, &tables, &stop, &noted);
            scope.spawn(move || {
                let mut state = seed ^ mix(thread);
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..100 {
                        noted.fetch_add(
                            look_up(readers, tables, &mut state).is_some().into(),
                            Ordering::Relaxed,
                        );
                    }
                    std::thread::yield_now();
                }
            });
        }
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let now = manager.budget().snapshot();
                assert!(now.used_bytes <= now.budget_bytes, "{policy}: {now:?}");
                std::hint::spin_loop();
            }
        });
        scope.spawn(|| {
            let mut state = seed ^ mix(100);
            while !stop.load(Ordering::Relaxed) {
                let at = (random(&mut state) % TABLES) as usize;
                match random(&mut state) % 4 {
                    0 => *readers[at].lock() = None,
                    1 => manager.forget(tables[at].spec(None).id),
                    2 => tables[at].fail.store(random(&mut state).is_multiple_of(4), Ordering::Relaxed),
                    _ => {
                        let spec = tables[at].spec(Some((at % 4) as u8));
                        *readers[at].lock() = manager.register(spec).map(Arc::new);
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
        });
        scope.spawn(|| {
            let mut state = seed ^ mix(200);
            while !stop.load(Ordering::Relaxed) {
                let budget_bytes = (random(&mut state) % (96 << 10)) as usize;
                let budget_bytes = manager.set_budget_bytes(budget_bytes);
                let now = manager.budget().snapshot();
                assert!(now.used_bytes <= budget_bytes, "{policy}: {now:?} after {budget_bytes}");
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        std::thread::sleep(duration);
        stop.store(true, Ordering::Relaxed);
    });
    manager.set_budget_bytes(64 << 10);
    assert!(manager.wait_idle(IDLE_TIMEOUT), "{policy}");
    let outcomes = manager.stats().outcomes;
    assert_eq!(
        outcomes.rejected + outcomes.wasted_reads + outcomes.true_positives,
        noted.load(Ordering::Relaxed),
        "{policy}: visits were lost at the end of their threads"
    );
    assert!(outcomes.rejected > 0, "{policy}: {:?}", manager.stats());
    assert_eq!(manager.stats().thread_panics, 0, "{policy}");
    readers.iter().for_each(|reader| *reader.lock() = None);
    closed_tables(&manager).into_iter().for_each(|id| manager.forget_closed(id));
    let stats = manager.stats();
    assert_eq!((stats.tables, stats.used.units, stats.used.garbage), (0, 0, 0), "{policy}: {stats:?}");
}

fn mix(x: u64) -> u64 {
    (x + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[test]
fn the_budget_holds_while_everything_moves() {
    let seed = std::process::id().into();
    for policy in PolicyKind::ALL {
        soak(policy, Duration::from_millis(1500), seed);
    }
}

#[test]
fn totals_survive_the_threads_that_counted() {
    let manager = Manager::new(ManagerSettings { budget_bytes: 1 << 20, ..Default::default() });
    let table = MemoryTable::new(1, 1, 100);
    let handle = manager.register(table.spec(None)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| (0..10_001).for_each(|_| handle.record(0, Outcome::WastedRead)));
        }
    });
    assert_eq!(manager.stats().outcomes.wasted_reads, 16 * 10_001);
}
