//! What the host's code may do when the manager calls it: everything, since no lock is held.

mod common;

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use common::{IDLE_TIMEOUT, MemoryTable, key, table_use};
use parking_lot::Mutex;
use springbloom_manager::{
    BytewiseComparator, Chore, Comparator, Fences, Manager, ManagerSettings, Outcome, Place, TableSpec,
    TableUnits, UnitReadError, UnitSource, WaitingTable, WaitsFor,
};

/// Calls the manager when it is dropped, as the destructor of an engine's file system may open a database.
struct CallsBack {
    table: Arc<MemoryTable>,
    manager: Weak<Manager>,
    dropped: Sender<()>,
    go_on: Option<Mutex<Receiver<()>>>,
}

impl UnitSource for CallsBack {
    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        if let Some(go_on) = &self.go_on {
            _ = go_on.lock().recv();
        }
        self.table.read_unit(table, segment, unit)
    }
}

impl Drop for CallsBack {
    fn drop(&mut self) {
        if let Some(manager) = self.manager.upgrade() {
            manager.stats();
        }
        _ = self.dropped.send(());
    }
}

fn manager() -> Arc<Manager> {
    Manager::new(ManagerSettings { budget_bytes: 1 << 20, ..ManagerSettings::default() })
}

#[test]
fn the_last_share_in_a_source_is_dropped_without_a_lock() {
    let manager = manager();
    let (dropped, is_dropped) = channel();
    let spec = |id, go_on| -> TableSpec<'static> {
        let table = MemoryTable::new(id, 1, 1_000);
        let of_table = table.spec(Some(1));
        let source = CallsBack { table, manager: Arc::downgrade(&manager), dropped: dropped.clone(), go_on };
        TableSpec { source: Arc::new(source), ..of_table }
    };
    // By the one that forgets its only table.
    let first = spec(1, None);
    let id = first.id;
    drop(manager.register(first).expect("there is room"));
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let forgetting = manager.clone();
    thread::spawn(move || forgetting.forget(id));
    is_dropped.recv_timeout(IDLE_TIMEOUT).expect("the registry is not locked");

    // By the thread whose read lasts longer than the table.
    let (go_on, may_go_on) = channel();
    let second = spec(2, Some(Mutex::new(may_go_on)));
    let id = second.id;
    drop(manager.register(second).expect("there is room"));
    thread::sleep(Duration::from_millis(100));
    manager.forget(id);
    drop(go_on);
    is_dropped.recv_timeout(IDLE_TIMEOUT).expect("the registry is not locked");
}

/// The order of bytes, as a program's own comparator that asks the manager something.
struct AsksBack {
    manager: Arc<Manager>,
    asked: AtomicU64,
}

impl Comparator for AsksBack {
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.asked.fetch_add(1, Relaxed);
        self.manager.keys();
        a.cmp(b)
    }
}

/// What the segments of a new table inherit from those of three known ones, the middle one of which has other keys.
fn inherited(manager: &Arc<Manager>, comparator: Option<&dyn Comparator>) -> Vec<f32> {
    let register = |key_space, id, level, comparator| {
        let table = MemoryTable::over_keys_of(key_space, id, 3, 100);
        let firsts = (0..3).map(|segment| key(key_space, 200 * segment));
        let fences = Fences::pack(firsts, Some(&key(key_space, 598)), false).expect("they are few");
        let spec = TableSpec { comparator, fences, ..table.spec(Some(level)) };
        (spec.id, manager.register(spec).expect("there is room"))
    };
    let known = [(1, 1, 2), (2, 2, 2), (1, 3, 1)].map(|(key_space, id, level)| {
        let (_, table) = register(key_space, id, level, comparator);
        (0..1000 * id).for_each(|n| table.record((n % 4 / 2) as u32, Outcome::WastedRead));
        table
    });
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    let (id, _new) = register(1, 4, 2, comparator);
    let segments = table_use(manager, id).expect("it is known");
    drop(known);
    segments.iter().map(|segment| segment.hotness.negatives).collect()
}

#[test]
fn an_order_of_the_hosts_code_is_called_without_a_lock_and_not_later() {
    let host = manager();
    let comparator = AsksBack { manager: host.clone(), asked: AtomicU64::new(0) };
    for of_segments in [inherited(&manager(), Some(&BytewiseComparator)), inherited(&host, Some(&comparator))]
    {
        let [visited, too, other] = of_segments[..] else { panic!("{of_segments:?}") };
        assert!(visited.min(too) > 10.0 * other.max(1.0), "{of_segments:?}");
    }
    assert!(comparator.asked.load(Relaxed) > 0);
    assert_eq!(inherited(&manager(), None), [0.0; 3], "it cannot be compared with any");
}

#[test]
fn chores_that_hang_leave_threads_to_other_places_and_none_is_waited_for() {
    let manager = manager();
    let (begun, have_begun) = channel();
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock();
    let hang = |device, source| {
        let (begun, gate) = (begun.clone(), gate.clone());
        manager.run(Chore::new(Place { device, source }, move || {
            _ = begun.send(device);
            drop(gate.lock());
        }));
    };
    (0..32).for_each(|n| hang(1, n));
    (0..32).for_each(|n| hang(2, 100 + n));
    let mut begun_at = [0; 4];
    while let Ok(device) = have_begun.recv_timeout(Duration::from_secs(2)) {
        begun_at[device as usize] += 1;
    }
    assert_eq!(begun_at, [0, 12, 3, 0]);
    hang(3, 200);
    assert_eq!(have_begun.recv_timeout(IDLE_TIMEOUT), Ok(3), "a third device has a thread");
    assert!(manager.wait_idle(IDLE_TIMEOUT), "nothing is left to load");
    drop(held);
    assert_eq!(have_begun.iter().take(49).count(), 49, "all are done");
}

/// A table that fails as often as the test says.
struct Fails {
    left: Mutex<Vec<WaitsFor>>,
    tried: Sender<()>,
}

impl WaitingTable for Fails {
    fn open(&self) -> Option<WaitsFor> {
        _ = self.tried.send(());
        self.left.lock().pop()
    }
}

#[test]
fn a_table_waits_until_it_can_be_read_or_there_is_room_or_it_is_closed() {
    let manager = manager();
    let (tried, is_tried) = channel();
    let wait = |left: &[WaitsFor], why| {
        let table = Fails { left: Mutex::new(left.to_vec()), tried: tried.clone() };
        manager.wait_to_open(Arc::new(table), Place { device: 1, source: 1 }, why)
    };
    let counts = || {
        let stats = manager.stats();
        (stats.tables_without_room, stats.failing_tables)
    };
    wait(&[WaitsFor::File], WaitsFor::File);
    (0..2).for_each(|_| is_tried.recv_timeout(IDLE_TIMEOUT).expect("it is tried until it can be read"));
    while counts() != (0, 0) {
        thread::yield_now();
    }
    let number = wait(&[WaitsFor::Room, WaitsFor::Room], WaitsFor::Room);
    assert_eq!((counts(), is_tried.recv_timeout(Duration::from_millis(300)).is_err()), ((1, 0), true));
    manager.set_budget_bytes(2 << 20);
    is_tried.recv_timeout(IDLE_TIMEOUT).expect("there is more room");
    assert!(is_tried.recv_timeout(Duration::from_secs(1)).is_err(), "there is no more room than it found");
    manager.stop_waiting(number);
    manager.set_budget_bytes(3 << 20);
    assert_eq!((counts(), is_tried.recv_timeout(Duration::from_secs(1)).is_err()), ((0, 0), true));
}
