//! Damage is reported instead of answered with, and salvage recovers the rest.

mod support;

use std::sync::Arc;

use springbloom_flash_index::FlashError;
use springbloom_flash_index::{FlashIndex, INDEX_PAGE_BYTES, IndexMemory, IndexSettings, Watch};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::{BlockSizes, Storage};
use support::{created, key, opened, scanned, small, steady, value};

fn filled(keys: std::ops::Range<u64>) -> Arc<SimStorage> {
    let storage = steady();
    let index = created(&storage);
    for n in keys {
        index.put(&key(n), &value(n, 1, 50)).unwrap();
    }
    index.close().unwrap();
    storage
}

/// An index opened after a killed run whose first page is lost, so that the log ends before its other pages.
fn with_leftovers() -> (Arc<SimStorage>, FlashIndex) {
    let storage = steady();
    // Memory for all entries, so that there is no checkpoint.
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
    (storage, index)
}

/// A later opening does not read pages that an interrupted run left after the end of the log.
#[test]
fn leftovers_of_an_earlier_opening_are_not_replayed() {
    let (storage, index) = with_leftovers();
    assert_eq!(index.get(&key(5000)).unwrap(), None, "the log ends where it was flushed");
    for n in 0..10 {
        index.put(&key(n), b"new").unwrap();
    }
    index.commit().unwrap();
    drop(index);
    let index = opened(&Arc::new(storage.after_power_loss(PowerLoss::KILLED, 2)));
    assert_eq!(index.get(&key(3)).unwrap(), Some(b"new".to_vec()));
    assert_eq!(index.get(&key(3000)).unwrap(), None);
}

/// The same, with a checkpoint where the leftover pages begin.
#[test]
fn leftovers_behind_a_checkpoint_are_not_replayed() {
    let (storage, index) = with_leftovers();
    index.put(&key(300), b"new").unwrap();
    index.commit().unwrap();
    index.compact(&mut Watch::none()).unwrap();
    drop(index);
    for _ in 0..2 {
        let index = FlashIndex::open_in(storage.clone(), IndexMemory::standard()).unwrap();
        assert_eq!(index.get(&key(300)).unwrap(), Some(b"new".to_vec()));
        assert_eq!(index.get(&key(3000)).unwrap(), None);
    }
}

/// A closed index opens without replaying its log. If the file of pending entries is damaged or outdated, the log is replayed.
#[test]
fn what_waits_is_read_from_its_own_file_after_closing_and_from_the_log_otherwise() {
    let storage = filled(0..8000);
    let check = |storage: &Arc<SimStorage>| {
        let index = opened(storage);
        let waiting = index.info().pending_entries;
        for n in 0..8000 {
            assert_eq!(index.get(&key(n)).unwrap(), Some(value(n, 1, 50)), "key {n}");
        }
        waiting
    };
    let waiting = check(&storage);
    assert!(waiting > 100, "{waiting}");
    // The second opening is of an index that was opened and not closed.
    assert_eq!(check(&storage), waiting);
    let index = opened(&storage);
    let last_page = index.verify(&mut Watch::none()).unwrap().pages as usize - 1;
    drop(index);
    let flip = |file: &str, at| storage.damage(file, at, |bytes| bytes[0] ^= 1);
    flip("records", last_page * INDEX_PAGE_BYTES + 9);
    assert_eq!(opened(&storage).info().pending_entries, waiting, "the log is not read");
    flip("waiting", 50);
    assert!(matches!(
        FlashIndex::open_in(storage.clone(), small().1).err(),
        Some(FlashError::Damaged { .. })
    ));
    flip("records", last_page * INDEX_PAGE_BYTES + 9);
    assert!(check(&storage) > waiting, "replayed, with what is in buckets already");
    flip("waiting", 50);
    let index = opened(&storage);
    (0..2000).for_each(|n| index.put(&key(n), &value(n, 2, 50)).unwrap());
    index.compact(&mut Watch::none()).unwrap();
    drop(index);
    let index = opened(&storage);
    assert_eq!(index.get(&key(7999)).unwrap(), Some(value(7999, 1, 50)));
    assert!((0..2000).all(|n| index.get(&key(n)).unwrap() == Some(value(n, 2, 50))), "an older list");
}

/// The first page of a long record may survive without the others. Records written after it do not complete it, and no lookup finds it
/// through other records of its page.
#[test]
fn a_long_record_that_a_crash_cut_off_stays_cut_off() {
    // The last one is long itself, and ends in the page in which the incomplete record begins.
    for bytes_before in [None, Some(300), Some(6000)] {
        let memory = IndexMemory::standard();
        let storage = steady();
        let settings = IndexSettings { zone_pages: 1024, ..small().0 };
        let index = FlashIndex::create_in(storage.clone(), settings, memory, 3).unwrap();
        index.put(b"cut", b"acknowledged").unwrap();
        index.commit().unwrap();
        // 64 pages are written at once: up to the second of the five pages of the long record.
        for n in 0..62 {
            index.put(&key(n), &value(n, 2, 3900)).unwrap();
        }
        if let Some(bytes) = bytes_before {
            index.put(b"cut", &value(0, 1, bytes)).unwrap();
        }
        index.put(b"cut", &value(0, 2, 20_000)).unwrap();
        drop(index);
        for seed in 1..4 {
            let storage = Arc::new(storage.after_power_loss(PowerLoss::KILLED, seed));
            let check = |index: &FlashIndex, expected_keys: u64| {
                assert_eq!(index.get(b"cut").unwrap().as_deref(), Some(&b"acknowledged"[..]));
                assert_eq!(scanned(index).len() as u64, expected_keys, "what was flushed");
                assert!(index.verify(&mut Watch::none()).unwrap().is_sound());
            };
            let index = FlashIndex::open_in(storage.clone(), memory).unwrap();
            check(&index, 1);
            for n in 0..10 * seed {
                index.put(&key(n), &value(n, 3, 3900)).unwrap();
            }
            index.commit().unwrap();
            drop(index);
            let index = FlashIndex::open_in(storage, memory).unwrap();
            check(&index, 1 + 10 * seed);
            index.compact(&mut Watch::none()).unwrap();
            check(&index, 1 + 10 * seed);
        }
    }
}

/// A killed process leaves pages that were written but not committed. What a later opening sees stays.
#[test]
fn what_a_killed_process_did_not_flush_is_not_there() {
    let memory = IndexMemory::standard();
    let storage = steady();
    let index = FlashIndex::create_in(storage.clone(), small().0, memory, 3).unwrap();
    for n in 0..6000 {
        index.put(&key(n), &value(n, 1, 50)).unwrap();
        if n == 4000 {
            index.commit().unwrap();
        }
    }
    drop(index);
    for _ in 0..2 {
        let index = FlashIndex::open_in(storage.clone(), memory).unwrap();
        assert_eq!(index.get(&key(4000)).unwrap(), Some(value(4000, 1, 50)));
        assert_eq!(index.get(&key(4001)).unwrap(), None);
    }
    let storage = Arc::new(storage.after_power_loss(PowerLoss::ALL_LOST, 1));
    let index = FlashIndex::open_in(storage, memory).unwrap();
    assert_eq!(index.get(&key(4000)).unwrap(), Some(value(4000, 1, 50)));
}

#[test]
fn a_log_that_ends_before_the_checkpoint_is_an_error_at_opening() {
    let storage = filled(0..8000);
    // The newest pages: no page is left to tell of the others.
    let index = opened(&storage);
    let pages = index.verify(&mut Watch::none()).unwrap().pages as usize;
    drop(index);
    for page in pages - 3..pages {
        storage.damage("records", page * INDEX_PAGE_BYTES, |bytes| bytes[..INDEX_PAGE_BYTES].fill(0));
    }
    // Forces a replay of the log.
    storage.damage("waiting", 0, |bytes| bytes[0] ^= 1);
    let result = FlashIndex::open_in(storage, small().1);
    assert!(matches!(result.err(), Some(FlashError::Damaged { .. })));
}

/// Of an index that was not closed, with a record for nearly each page.
fn acknowledged() -> Arc<SimStorage> {
    let storage = steady();
    let index = created(&storage);
    for n in 0..100 {
        index.put(&key(n), &value(n, 1, 3000)).unwrap();
        index.commit().unwrap();
    }
    drop(index);
    storage
}

#[test]
fn a_log_that_is_shorter_than_what_was_acknowledged_is_told_with_its_length() {
    let storage = acknowledged();
    // The manifest is of the empty index.
    storage.truncate("records", 60 * INDEX_PAGE_BYTES);
    let result = FlashIndex::open_in(storage, small().1);
    let Some(FlashError::Truncated { got_bytes, expected_bytes, .. }) = result.err() else {
        panic!("it opens")
    };
    assert!(got_bytes == 60 * INDEX_PAGE_BYTES as u64 && expected_bytes >= 98 * INDEX_PAGE_BYTES as u64);
}

#[test]
fn a_lost_page_that_was_acknowledged_is_an_error_at_opening() {
    let storage = acknowledged();
    // The last page is not written yet. Its records are in the write-ahead log.
    for page in [50, 98] {
        storage.damage("records", page * INDEX_PAGE_BYTES, |bytes| bytes[9] ^= 4);
        let result = FlashIndex::open_in(storage.clone(), small().1);
        assert!(matches!(result.err(), Some(FlashError::Damaged { .. })), "page {page}");
        storage.damage("records", page * INDEX_PAGE_BYTES, |bytes| bytes[9] ^= 4);
    }
    let index = opened(&storage);
    assert!((0..100).all(|n| index.get(&key(n)).unwrap() == Some(value(n, 1, 3000))));
}

#[test]
fn damaged_pages_and_buckets_are_errors_for_the_keys_concerned_and_found_by_verify() {
    for (device, stride) in [("records", INDEX_PAGE_BYTES), ("buckets", 2048)] {
        let storage = filled(0..8000);
        let index = opened(&storage);
        assert!(index.verify(&mut Watch::none()).unwrap().is_sound());
        // Not every slot holds a bucket.
        for place in 5.. {
            storage.damage(device, place * stride + 300, |bytes| bytes[0] ^= 0x10);
            if !index.verify(&mut Watch::none()).unwrap().is_sound() {
                break;
            }
        }
        let report = index.verify(&mut Watch::none()).unwrap();
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

/// A flush stops at a damaged bucket. Further puts and a close must not lose other records.
#[test]
fn one_damaged_bucket_does_not_spoil_others() {
    let storage = filled(0..8000);
    let index = opened(&storage);
    for place in 5.. {
        storage.damage("buckets", place * 2048 + 300, |bytes| bytes[0] ^= 0x10);
        if !index.verify(&mut Watch::none()).unwrap().is_sound() {
            break;
        }
    }
    drop(index);
    for version in 2..6 {
        let index = opened(&storage);
        let errors = (0..400).filter(|n| index.put(&key(*n), &value(*n, version, 50)).is_err()).count();
        assert!(errors > 0);
        index.close().unwrap();
    }
    let index = opened(&storage);
    let report = index.verify(&mut Watch::none()).unwrap();
    assert_eq!((report.damaged_buckets, report.damaged_pages), (1, 0));
    assert_eq!(index.repair(&mut Watch::none()).unwrap(), 1);
    for n in 0..8000 {
        let version = if n < 400 { 5 } else { 1 };
        assert_eq!(index.get(&key(n)).unwrap(), Some(value(n, version, 50)), "key {n}");
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
    both(0, |byte| *byte ^= 1);
    assert!(matches!(open(), Some(FlashError::Damaged { .. })));
    both(0, |byte| *byte ^= 1);
    both(60, |byte| *byte ^= 1);
    assert!(matches!(open(), Some(FlashError::Damaged { .. })));
    both(60, |byte| *byte ^= 1);
    both(8, |byte| *byte ^= 1);
    assert!(matches!(open(), Some(FlashError::Damaged { .. })), "a flipped bit is no other version");
    both(8, |byte| *byte ^= 1);
    assert_eq!(opened(&storage).get(&key(5)).unwrap(), Some(value(5, 1, 50)));
    assert!(matches!(FlashIndex::open_in(steady(), small().1).err(), Some(FlashError::NotFound { .. })));
}

/// Damage to the newest manifest is reported. The older one would answer with old values.
#[test]
fn a_damaged_manifest_is_never_a_step_back() {
    let storage = filled(0..3000);
    let index = opened(&storage);
    (0..3000).for_each(|n| index.put(&key(n), &value(n, 2, 50)).unwrap());
    index.close().unwrap();
    let mut told = 0;
    for file in ["manifest-a", "manifest-b"] {
        for at in [0, 9, 17, 30, 60, 200] {
            storage.damage(file, at, |bytes| bytes[0] ^= 1);
            match FlashIndex::open_in(storage.clone(), small().1) {
                Ok(index) => {
                    assert_eq!(index.get(&key(5)).unwrap(), Some(value(5, 2, 50)), "{file}, byte {at}")
                }
                Err(_) => {
                    told += 1;
                    let rescued = steady();
                    let report =
                        FlashIndex::salvage_in(&(storage.clone() as Arc<dyn Storage>), rescued.clone(), 5)
                            .unwrap();
                    assert!(report.lost_manifest && report.damaged_pages == 0, "{report:?}");
                    let index = opened(&rescued);
                    assert!((0..3000).all(|n| index.get(&key(n)).unwrap() == Some(value(n, 2, 50))));
                }
            }
            storage.damage(file, at, |bytes| bytes[0] ^= 1);
        }
    }
    assert_eq!(told, 6, "one of the two is in force");
}

/// For every n: puts after the n-th failed write or sync are refused, and all acknowledged records are found afterwards.
#[test]
fn whichever_write_fails_the_index_opens_with_all_that_was_acknowledged() {
    let mut failures = 0;
    for n in 0.. {
        let power = SimPower::steady();
        let storage = Arc::new(SimStorage::new(power.clone()));
        let (settings, memory) = small();
        drop(FlashIndex::create_in(storage.clone(), settings, memory, 77).unwrap());
        power.fail_once_after(n);
        let mut acknowledged = 0;
        let mut work = || -> Result<(), FlashError> {
            let index = FlashIndex::open_in(storage.clone(), memory)?;
            for n in 0..1500 {
                index.put(&key(n % 400), &value(n, 1, 60))?;
                if n % 100 == 99 {
                    index.commit()?;
                    acknowledged = n + 1;
                }
                if n % 700 == 699 {
                    index.compact(&mut Watch::none())?;
                }
            }
            index.close()
        };
        let result = work();
        failures += u64::from(result.is_err());
        for loss in [PowerLoss::KILLED, PowerLoss::ALL_LOST, PowerLoss::TORN_SECTORS] {
            let found = Arc::new(storage.after_power_loss(loss, n));
            let index = opened(&found);
            for key_number in 0..400 {
                let last = (0..acknowledged).rev().find(|n| n % 400 == key_number);
                let got = index.get(&key(key_number)).unwrap();
                let is_later = (acknowledged..1500)
                    .filter(|n| n % 400 == key_number)
                    .any(|n| got == Some(value(n, 1, 60)));
                assert!(
                    got == last.map(|n| value(n, 1, 60)) || is_later,
                    "operation {n}, {loss:?}, key {key_number}"
                );
            }
            assert!(index.verify(&mut Watch::none()).unwrap().is_sound());
        }
        if result.is_ok() && power.operations() < n {
            break;
        }
    }
    assert!(failures > 50, "{failures}");
}

#[test]
fn what_can_be_read_is_salvaged() {
    let storage = filled(0..8000);
    let index = opened(&storage);
    for n in 0..500 {
        index.delete(&key(n)).unwrap();
    }
    index.put(&key(9000), &value(9000, 1, 60_000)).unwrap();
    index.commit().unwrap();
    drop(index);
    storage.damage("records", 70 * INDEX_PAGE_BYTES, |bytes| bytes[50] ^= 1);
    storage.damage("buckets", 0, |bytes| bytes.fill(0xee));
    let rescued = steady();
    let report = FlashIndex::salvage_in(&(storage.clone() as Arc<dyn Storage>), rescued.clone(), 5).unwrap();
    assert_eq!((report.damaged_pages, report.broken_records), (1, 0), "{report:?}");
    let index = opened(&rescued);
    let missing = (500..8000).filter(|n| index.get(&key(*n)).unwrap() != Some(value(*n, 1, 50))).count();
    assert!((1..80).contains(&missing), "one page of records is lost: {missing}");
    assert!((0..500).all(|n| index.get(&key(n)).unwrap().is_none()), "deleted keys stay deleted");
    assert_eq!(index.get(&key(9000)).unwrap(), Some(value(9000, 1, 60_000)));
}

/// A few hot keys among many cold ones are deleted. Their first records stay in zones that are not reclaimed, and buckets drop entries of
/// replaced records. No deletion may be forgotten.
#[test]
fn repair_rebuilds_damaged_buckets_as_they_were() {
    let storage = steady();
    let index = created(&storage);
    let put = |range: std::ops::Range<u64>, hot: u64, every: u64| {
        for n in range {
            let n = if n % every == 0 { hot + n / every % 5 } else { n };
            index.put(&key(n), &value(n, 1, 50)).unwrap();
        }
    };
    // Entries of one key are dropped only if they have the same bits, so all splits come first.
    put(1000..9000, 0, u64::MAX);
    put(9000..11_000, 0, 30);
    put(20_000..30_000, 0, 1);
    (0..5).for_each(|n| index.delete(&key(n)).unwrap());
    for _ in 0..3 {
        put(30_000..36_000, 10, 1);
        index.compact(&mut Watch::none()).unwrap();
    }
    let expected = |n: u64| {
        ((10..15).contains(&n) || n >= 1000 && (n < 9000 || !n.is_multiple_of(30))).then(|| value(n, 1, 50))
    };
    let check = |index: &FlashIndex| {
        let keys = (0..15).chain(1000..11_000);
        keys.for_each(|n| assert_eq!(index.get(&key(n)).unwrap(), expected(n), "key {n}"));
    };
    check(&index);
    assert_eq!(index.repair(&mut Watch::none()).unwrap(), 0);
    // Damages every bucket, in any of its sectors.
    for place in 0..index.info().bucket_bytes as usize / 512 {
        storage.damage("buckets", place * 512 + 200, |bytes| bytes[0] ^= 8);
    }
    assert!(index.verify(&mut Watch::none()).unwrap().damaged_buckets > 0);
    assert!(matches!(index.get(&key(2001)), Err(FlashError::Damaged { .. })));
    assert!(index.repair(&mut Watch::none()).unwrap() > 0);
    assert!(index.verify(&mut Watch::none()).unwrap().is_sound());
    check(&index);
    drop(index);
    check(&opened(&Arc::new(storage.after_power_loss(PowerLoss::ALL_LOST, 1))));
}

#[test]
fn buckets_are_not_rebuilt_from_a_damaged_log() {
    let storage = filled(0..8000);
    storage.damage("records", 5 * INDEX_PAGE_BYTES + 100, |bytes| bytes[0] ^= 1);
    storage.damage("buckets", 0, |bytes| bytes.fill(0xee));
    let index = opened(&storage);
    let damaged = index.verify(&mut Watch::none()).unwrap().damaged_buckets;
    assert!(damaged > 0);
    assert!(matches!(index.repair(&mut Watch::none()).err(), Some(FlashError::Damaged { .. })));
    assert_eq!(index.verify(&mut Watch::none()).unwrap().damaged_buckets, damaged);
}

#[test]
fn devices_that_do_not_take_sectors_are_refused_before_anything_is_made() {
    let storage = Arc::new(SimStorage::with_blocks(SimPower::steady(), BlockSizes::LARGE));
    let made = FlashIndex::create_in(storage, small().0, IndexMemory::standard(), 3);
    let refused = FlashError::PageSize { name: String::new(), got_bytes: 512, expected_bytes: 4096 };
    assert!(
        made.err().is_some_and(|error| std::mem::discriminant(&error) == std::mem::discriminant(&refused))
    );
}
