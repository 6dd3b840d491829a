//! What a manager does for what its host keeps of tables: slots, locators, bytes.

mod common;

use common::{MemoryTable, manager};
use springbloom_manager::TableSpec;
use springbloom_published_policies::PolicyKind;

#[test]
fn no_other_table_gets_the_slot_of_one_that_a_reader_has_open() {
    let manager = manager(1 << 20, PolicyKind::Benefit);
    let open = |id| manager.register(MemoryTable::new(id, 1, 100).spec(Some(1))).expect("there is room");
    let (first, again) = (open(1), open(1));
    assert_eq!(first.slot(), again.slot(), "it is one table");
    manager.forget(first.id());
    drop(again);
    let second = open(2);
    assert_ne!(first.slot(), second.slot());
    let slot = first.slot();
    drop(first);
    assert_eq!(open(3).slot(), slot, "it is free again");
}

#[test]
fn a_locator_is_as_long_as_its_length_can_be_kept() {
    let manager = manager(1 << 20, PolicyKind::Benefit);
    // Without segments, so that nothing is read.
    let table = MemoryTable::new(1, 0, 100);
    for (bytes, is_kept) in [(1 << 16, false), ((1 << 16) - 1, true)] {
        let locator = vec![7; bytes];
        let handle = manager.register(TableSpec { locator: &locator, ..table.spec(Some(1)) });
        assert_eq!(handle.is_some(), is_kept, "{bytes} bytes");
        assert!(handle.is_none_or(|handle| handle.locator() == locator));
    }
}

#[test]
fn a_table_and_what_its_host_needs_for_it_find_room_together_or_not_at_all() {
    let manager = manager(1 << 16, PolicyKind::Benefit);
    // Without segments, so that nothing is read.
    let table = MemoryTable::new(1, 0, 100);
    let frees = manager.budget().frees();
    assert!(manager.register_with(table.spec(Some(1)), 1 << 16).is_none());
    assert_eq!(manager.budget().frees(), frees, "nothing that others would try again for");
    assert_eq!((manager.stats().tables, manager.stats().used.bookkeeping), (0, 0));
    let (_handle, bytes) = manager.register_with(table.spec(Some(1)), 100).expect("there is room");
    let used = manager.stats().used.bookkeeping;
    drop(bytes);
    assert_eq!(manager.stats().used.bookkeeping, used - 100);
}
