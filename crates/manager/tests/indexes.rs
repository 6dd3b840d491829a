//! Whole indexes of tables in the budget: which are resident, what they take, and what becomes of those that cannot be read.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{IDLE_TIMEOUT, MemoryTable, manager};
use springbloom_index::{Cursor, PackedIndex, Packer};
use springbloom_manager::{
    Manager, Outcome, Stats, TableHandle, TableSpec, TableUnits, UnitReadError, UnitSource,
};
use springbloom_published_policies::PolicyKind;

const INDEX_BYTES: usize = 10_000;
const BUDGET_BYTES: usize = 1 << 20;

/// A table with an index of `index_bytes`, whatever was expected.
struct Indexed {
    table: Arc<MemoryTable>,
    index_bytes: usize,
    fails: AtomicBool,
    hangs: AtomicBool,
    reads: AtomicU64,
}

impl UnitSource for Indexed {
    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        self.table.read_unit(table, segment, unit)
    }

    fn read_index(&self, _slot: u32) -> Result<PackedIndex, UnitReadError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        while self.hangs.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if self.fails.load(Ordering::SeqCst) {
            return Err(UnitReadError::Io(std::io::Error::other("pulled the plug")));
        }
        Ok(packed(self.table.id, self.index_bytes))
    }
}

/// An open table of one segment.
struct Open {
    source: Arc<Indexed>,
    handle: TableHandle,
}

impl Open {
    fn new(manager: &Manager, id: u64, index_bytes: usize) -> Self {
        let table = MemoryTable::new(id, 1, 100);
        let source = Arc::new(Indexed {
            index_bytes,
            fails: AtomicBool::new(false),
            hangs: AtomicBool::new(false),
            reads: AtomicU64::new(0),
            table,
        });
        let of_table = source.table.spec(Some(1));
        let spec = TableSpec { source: source.clone(), index_bytes: INDEX_BYTES, ..of_table };
        let handle = manager.register(spec).expect("there is room");
        Self { source, handle }
    }

    /// Lookups that find their key.
    fn look_up(&self, lookups: usize) {
        (0..lookups).for_each(|_| self.handle.record(0, Outcome::TruePositive));
    }

    /// The separator of the resident index.
    fn bytes(&self) -> Option<Vec<u8>> {
        self.handle.loaded_index().map(|index| separator(&index))
    }
}

/// An index of one block, with a separator of `bytes`.
fn packed(id: u64, bytes: usize) -> PackedIndex {
    let mut packer = Packer::default();
    packer.add(&vec![id as u8; bytes], 0, 4096);
    packer.finish().expect("it can be packed")
}

fn separator(index: &PackedIndex) -> Vec<u8> {
    let mut cursor = Cursor::default();
    cursor.first(index).expect("it has one");
    cursor.separator(index).to_vec()
}

/// Until `is_so`, with `lookups` of each table in between.
fn wait_until(manager: &Manager, tables: &[(&Open, usize)], is_so: impl Fn(&Stats) -> bool) {
    let begun = Instant::now();
    loop {
        tables.iter().for_each(|(table, lookups)| table.look_up(*lookups));
        assert!(manager.wait_idle(IDLE_TIMEOUT));
        let stats = manager.stats();
        if is_so(&stats) {
            return;
        }
        assert!(begun.elapsed() < IDLE_TIMEOUT, "{stats:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_index_is_resident_while_lookups_reach_it_and_there_is_a_budget() {
    let manager = manager(BUDGET_BYTES, PolicyKind::Benefit);
    let (hot, cold) = (Open::new(&manager, 1, INDEX_BYTES - 7), Open::new(&manager, 2, INDEX_BYTES));
    assert_eq!(hot.bytes(), None);
    wait_until(&manager, &[(&hot, 100)], |stats| stats.resident_indexes == 1);
    assert_eq!(hot.bytes(), Some(vec![1; INDEX_BYTES - 7]));
    assert_eq!(cold.bytes(), None, "no lookup reached it");
    let used = manager.stats().used.indexes;
    assert!((INDEX_BYTES - 7..INDEX_BYTES * 21 / 20).contains(&used), "{used}");
    // Who has a share keeps the bytes, in memory and in the budget.
    let share = hot.handle.loaded_index().expect("it is resident");
    manager.set_budget_bytes(0);
    assert_eq!((hot.bytes(), manager.stats().used.indexes), (None, used));
    assert_eq!(separator(&share)[0], 1);
    drop(share);
    assert_eq!(manager.stats().used.indexes, 0);
    manager.set_budget_bytes(BUDGET_BYTES);
    wait_until(&manager, &[(&hot, 100), (&cold, 100)], |stats| stats.resident_indexes == 2);
    manager.forget(hot.handle.id());
    assert_eq!((hot.bytes(), manager.stats().resident_indexes), (None, 1));
    drop(hot);
    manager.forget(cold.handle.id());
    drop(cold);
    wait_until(&manager, &[], |stats| (stats.used.indexes, stats.used.bookkeeping) == (0, 0));
}

#[test]
fn those_that_lookups_reach_most_are_resident_where_not_all_fit() {
    // Two thirds of what bookkeeping leaves are indexes' at most.
    let manager = manager(3 * INDEX_BYTES, PolicyKind::Benefit);
    let tables: Vec<_> = (1..=4).map(|id| Open::new(&manager, id, INDEX_BYTES)).collect();
    let all: Vec<_> = tables.iter().zip([20, 200, 20, 20]).collect();
    wait_until(&manager, &all, |stats| tables[1].bytes().is_some() && stats.resident_indexes == 1);
    // They change places, and so do the indexes.
    let all: Vec<_> = tables.iter().zip([20, 20, 200, 20]).collect();
    wait_until(&manager, &all, |stats| tables[2].bytes().is_some() && stats.resident_indexes == 1);
    let stats = manager.stats();
    assert!(stats.peak_bytes <= 3 * INDEX_BYTES, "{stats:?}");
}

#[test]
fn an_index_that_cannot_be_read_leaves_nothing() {
    let manager = manager(BUDGET_BYTES, PolicyKind::Benefit);
    let (damaged, larger) = (Open::new(&manager, 1, INDEX_BYTES), Open::new(&manager, 2, 2 * INDEX_BYTES));
    damaged.source.fails.store(true, Ordering::SeqCst);
    let all = [(&damaged, 100), (&larger, 100)];
    wait_until(&manager, &all, |stats| stats.failed_reads == 1 && stats.resident_indexes == 1);
    assert_eq!(larger.bytes().map(|bytes| bytes.len()), Some(2 * INDEX_BYTES), "read again, as it is larger");
    let used = manager.stats().used.indexes;
    assert!((2 * INDEX_BYTES..INDEX_BYTES * 21 / 10).contains(&used), "{used}");
    for _ in 0..20 {
        damaged.look_up(100);
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(damaged.source.reads.load(Ordering::SeqCst), 1, "not at once again");
}

#[test]
fn a_read_that_hangs_keeps_nobody_waiting_but_its_bytes() {
    let manager = manager(BUDGET_BYTES, PolicyKind::Benefit);
    let (hanging, other) = (Open::new(&manager, 1, INDEX_BYTES), Open::new(&manager, 2, INDEX_BYTES));
    hanging.source.hangs.store(true, Ordering::SeqCst);
    wait_until(&manager, &[(&hanging, 100)], |_| hanging.source.reads.load(Ordering::SeqCst) == 1);
    wait_until(&manager, &[(&other, 100)], |stats| stats.resident_indexes == 1);
    manager.set_budget_bytes(0);
    assert!(manager.stats().used.indexes >= INDEX_BYTES, "what is being read");
    hanging.source.hangs.store(false, Ordering::SeqCst);
    wait_until(&manager, &[], |stats| stats.used.indexes == 0);
    assert_eq!(hanging.bytes(), None, "the plan did not want it any more");
}
