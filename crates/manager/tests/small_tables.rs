//! Tables of a few keys, whose bookkeeping takes more than their units.

mod common;

use std::sync::Arc;

use common::{IDLE_TIMEOUT, MemoryTable, manager};
use springbloom_manager::{Manager, TableHandle};
use springbloom_published_policies::PolicyKind;

const TABLES: u64 = 400;
const UNITS: usize = 6;

/// A manager with this budget, and the tables that found room.
fn opened(budget_bytes: usize) -> (Arc<Manager>, Vec<TableHandle>) {
    let manager = manager(budget_bytes, PolicyKind::Benefit);
    let register = |id| manager.register(MemoryTable::new(id, 1, 20).spec(Some(0)));
    let handles = (0..TABLES).filter_map(register).collect();
    assert!(manager.wait_idle(IDLE_TIMEOUT));
    (manager, handles)
}

#[test]
fn a_table_is_known_wherever_a_few_of_its_units_fit() {
    let (ample, _handles) = opened(64 << 20);
    let stats = ample.stats();
    let everything = stats.used.bookkeeping + stats.used.units;
    assert!(stats.used.bookkeeping * 2 > everything, "bookkeeping is most of it: {stats:?}");

    let (manager, handles) = opened(everything * 6 / 5);
    assert_eq!(handles.len(), TABLES as usize);
    let complete: u64 = manager.stats().levels.iter().map(|level| level.segments[UNITS]).sum();
    assert_eq!(complete, TABLES, "where everything fits, everything is loaded: {:?}", manager.stats());

    let (manager, handles) = opened(everything);
    assert_eq!(handles.len(), TABLES as usize, "{:?}", manager.stats());
    let without: u64 = manager.stats().levels.iter().map(|level| level.segments[0]).sum();
    assert_eq!(without, 0, "every table has units: {:?}", manager.stats());

    // Less than what they take: those that are known have units all the same.
    let (manager, handles) = opened(everything / 2);
    let stats = manager.stats();
    assert!(!handles.is_empty() && stats.refused_tables > 0, "{stats:?}");
    assert!(stats.levels[0].segments[0] * 10 <= handles.len() as u64, "{stats:?}");
}
