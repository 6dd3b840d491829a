//! Damage is told, not answered with; what is left can be salvaged.

mod index_support;

use std::sync::Arc;

use index_support::{created, key, opened, small, steady, value};
use springbloom_flash::FlashError;
use springbloom_flash::device::{BlockSizes, PowerLoss, SimPower, SimStorage};
use springbloom_flash::index::{FlashIndex, INDEX_PAGE_BYTES, IndexMemory};

fn filled(keys: std::ops::Range<u64>) -> Arc<SimStorage> {
    let storage = steady();
    let index = created(&storage);
    for n in keys {
        index.put(&key(n), &value(n, 1, 50)).unwrap();
    }
    index.close().unwrap();
    storage
}

/// What an interrupted run left behind the end of the log is not taken for log by a later opening.
#[test]
fn leftovers_of_an_earlier_opening_are_not_replayed() {
    let storage = steady();
    // With memory for all entries, so that there is no checkpoint.
    let memory = IndexMemory::standard();
    let index = FlashIndex::create_in(storage.clone(), small().0, memory, 3).unwrap();
    // More than the tail holds, so that pages are written without being acknowledged.
    for n in 0..6000 {
        index.put(&key(n), b"old, never acknowledged").unwrap();
    }
    drop(index);
    let storage = Arc::new(storage.after_power_loss(PowerLoss::KILLED, 1));
    storage.damage("records", 0, |bytes| bytes[100] ^= 1);
    let index = FlashIndex::open_in(storage.clone(), memory).unwrap();
    assert_eq!(index.get(&key(5000)).unwrap(), None, "the log ends where a page is missing");
    for n in 0..10 {
        index.put(&key(n), b"new").unwrap();
    }
    index.flush().unwrap();
    drop(index);
    let index = opened(&Arc::new(storage.after_power_loss(PowerLoss::KILLED, 2)));
    assert_eq!(index.get(&key(3)).unwrap(), Some(b"new".to_vec()));
    assert_eq!(index.get(&key(3000)).unwrap(), None);
}

#[test]
fn a_lost_page_that_was_acknowledged_is_an_error_at_opening() {
    let storage = steady();
    let index = created(&storage);
    for n in 0..100 {
        index.put(&key(n), b"value").unwrap();
        index.flush().unwrap();
    }
    drop(index);
    storage.damage("records", 50 * INDEX_PAGE_BYTES, |bytes| bytes[9] ^= 4);
    let result = FlashIndex::open_in(storage, small().1);
    assert!(matches!(result.err(), Some(FlashError::Damaged { .. })));
}

#[test]
fn damaged_pages_and_buckets_are_errors_for_the_keys_concerned_and_found_by_verify() {
    for (device, stride) in [("records", INDEX_PAGE_BYTES), ("buckets", 2048)] {
        let storage = filled(0..8000);
        let index = opened(&storage);
        assert!(index.verify().unwrap().is_sound());
        // Not every bucket's slot is in use.
        for place in 5.. {
            storage.damage(device, place * stride + 300, |bytes| bytes[0] ^= 0x10);
            if !index.verify().unwrap().is_sound() {
                break;
            }
        }
        let report = index.verify().unwrap();
        assert_eq!(report.damaged_pages + report.damaged_buckets, 1, "{device}: {report:?}");
        let mut errors = 0;
        for n in 0..8000 {
            match index.get(&key(n)) {
                Ok(found) => assert_eq!(found, Some(value(n, 1, 50)), "key {n}"),
                Err(FlashError::Damaged { .. }) => errors += 1,
                Err(other) => panic!("{other}"),
            }
        }
        assert!(errors > 0 && errors < 800, "{device}: {errors} keys");
    }
}

#[test]
fn wrong_manifests_have_their_own_errors() {
    let storage = filled(0..100);
    let both = |at: usize, change: fn(&mut u8)| {
        for file in ["manifest-a", "manifest-b"] {
            storage.damage(file, at, |bytes| change(&mut bytes[0]));
        }
    };
    let open = || FlashIndex::open_in(storage.clone(), small().1).err();
    both(8, |byte| *byte += 1);
    assert!(matches!(open(), Some(FlashError::NewerVersion { got: 2, expected: 1, .. })));
    both(8, |byte| *byte -= 1);
    both(0, |byte| *byte ^= 1);
    assert!(matches!(open(), Some(FlashError::Foreign { .. })));
    both(0, |byte| *byte ^= 1);
    both(60, |byte| *byte ^= 1);
    assert!(matches!(open(), Some(FlashError::Damaged { .. })));
    both(60, |byte| *byte ^= 1);
    assert_eq!(opened(&storage).get(&key(5)).unwrap(), Some(value(5, 1, 50)));
}

#[test]
fn what_can_be_read_is_salvaged() {
    let storage = filled(0..8000);
    let index = opened(&storage);
    for n in 0..500 {
        index.delete(&key(n)).unwrap();
    }
    index.put(&key(9000), &value(9000, 1, 60_000)).unwrap();
    index.flush().unwrap();
    drop(index);
    storage.damage("records", 70 * INDEX_PAGE_BYTES, |bytes| bytes[50] ^= 1);
    storage.damage("buckets", 0, |bytes| bytes.fill(0xee));
    let rescued = steady();
    let report = FlashIndex::salvage_in(&*storage, rescued.clone(), 5).unwrap();
    assert_eq!((report.damaged_pages, report.broken_records), (1, 0), "{report:?}");
    let index = opened(&rescued);
    let missing = (500..8000).filter(|n| index.get(&key(*n)).unwrap() != Some(value(*n, 1, 50))).count();
    assert!((1..80).contains(&missing), "one page of records is lost: {missing}");
    assert!((0..500).all(|n| index.get(&key(n)).unwrap().is_none()), "deleted keys stay deleted");
    assert_eq!(index.get(&key(9000)).unwrap(), Some(value(9000, 1, 60_000)));
}

#[test]
fn devices_that_do_not_take_sectors_are_refused_before_anything_is_made() {
    let storage = Arc::new(SimStorage::with_blocks(SimPower::steady(), BlockSizes::LARGE));
    for _ in 0..2 {
        let made = FlashIndex::create_in(storage.clone(), small().0, IndexMemory::standard(), 3);
        assert!(matches!(
            made.err(),
            Some(FlashError::PageSize { got_bytes: 512, expected_bytes: 4096, .. })
        ));
    }
}
