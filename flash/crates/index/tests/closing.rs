//! A clean close spares the next opening work, and an opening that changes nothing writes nothing.

mod support;

use std::sync::Arc;

use springbloom_filter::UnitSettings;
use springbloom_flash_index::{FlashIndex, IndexMemory, Watch};
use springbloom_flash_testkit::{SimPower, SimStorage};
use springbloom_page_device::BlockSizes;
use support::{created, key, opened, small, steady, value};

const KEYS: u64 = 8000;

fn filled(storage: Arc<SimStorage>) -> Arc<SimStorage> {
    let index = created(&storage);
    (0..KEYS).for_each(|n| index.put(&key(n), &value(n, 1, 50)).unwrap());
    index.close().unwrap();
    storage
}

fn bytes(storage: &SimStorage, file: &str) -> Vec<u8> {
    let mut copy = Vec::new();
    storage.damage(file, 0, |bytes| copy = bytes.to_vec());
    copy
}

fn check(index: &FlashIndex) {
    for n in 0..KEYS {
        assert_eq!(index.get(&key(n)).unwrap(), Some(value(n, 1, 50)), "key {n}");
    }
}

/// Bucket reads per lookup of an absent key.
fn reads_per_absent(index: &FlashIndex) -> f64 {
    let before = index.stats().bucket_reads;
    for n in KEYS..2 * KEYS {
        assert_eq!(index.get(&key(n)).unwrap(), None);
    }
    (index.stats().bucket_reads - before) as f64 / KEYS as f64
}

#[test]
fn an_opening_that_changes_nothing_leaves_a_closed_index_closed() {
    let storage = filled(Arc::new(SimStorage::with_blocks(SimPower::steady(), BlockSizes::EMULATED)));
    let files = ["records", "buckets", "manifest-a", "manifest-b", "waiting", "filters"];
    let before = files.map(|file| bytes(&storage, file));
    for closes in [false, true] {
        let index = opened(&storage);
        check(&index);
        index.commit().unwrap();
        assert!(index.verify(&mut Watch::none()).unwrap().is_sound());
        if closes {
            index.close().unwrap();
        }
        assert_eq!(files.map(|file| bytes(&storage, file)), before);
    }

    // An opening looks for torn sectors only after a run that changed something and did not close.
    let slots = bytes(&storage, "buckets").len() / (4 * 512);
    (0..slots).for_each(|slot| storage.damage("buckets", slot * 4 * 512, |bytes| bytes[100] ^= 1));
    assert_eq!(opened(&storage).stats().buckets_rebuilt, 0);
    let index = opened(&storage);
    index.put(&key(0), &value(0, 1, 50)).unwrap();
    index.commit().unwrap();
    drop(index);
    let index = opened(&storage);
    assert!(index.stats().buckets_rebuilt > 0);
    check(&index);
}

#[test]
fn pre_filters_are_there_after_closing_and_opening() {
    let storage = filled(steady());
    let kept = opened(&storage);
    // Units of 3 and 4 bits over the halves, and 16 bits shared with one of some 300 entries.
    let reads = reads_per_absent(&kept);
    assert!((0.1..0.25).contains(&reads), "{reads}");
    check(&kept);
    drop(kept);

    // Filters with other units are not restored, nor are any without `prefilter`.
    let three = UnitSettings::ribbon(3).unwrap();
    let others = IndexMemory { prefilter: Some([three, three]), ..small().1 };
    let without = IndexMemory { prefilter: None, ..small().1 };
    for memory in [others, without] {
        let index = FlashIndex::open_in(storage.clone(), memory).unwrap();
        assert_eq!(index.info().prefilter_bytes, 0);
        check(&index);
    }
}

#[test]
fn damaged_pre_filters_are_rebuilt() {
    let storage = filled(steady());
    let whole = opened(&storage).info().prefilter_bytes;
    let len = bytes(&storage, "filters").len();
    assert!(whole > 0 && len > 4096);
    for at in [3, 12, 21, 22, 30, 41, len / 2, len - 1] {
        storage.damage("filters", at, |bytes| bytes[0] ^= 1);
        let index = opened(&storage);
        assert!(index.info().prefilter_bytes < whole, "byte {at}");
        check(&index);
        reads_per_absent(&index);
        assert!(reads_per_absent(&index) < 0.25, "made by the lookups before");
        drop(index);
        storage.damage("filters", at, |bytes| bytes[0] ^= 1);
    }
    assert_eq!(opened(&storage).info().prefilter_bytes, whole);
}

/// Restored filters belong to their buckets: later changes are found, also after a kill.
#[test]
fn pre_filters_of_an_older_closing_hide_nothing() {
    let storage = filled(steady());
    let older = bytes(&storage, "filters");
    for round in 1..=3 {
        let index = opened(&storage);
        (KEYS..KEYS + 3000 * round).for_each(|n| index.put(&key(n), &value(n, 1, 50)).unwrap());
        index.commit().unwrap();
        if round == 3 {
            index.close().unwrap();
            // Puts the older file back.
            let len = older.len().min(bytes(&storage, "filters").len());
            storage.damage("filters", 0, |bytes| bytes[..len].copy_from_slice(&older[..len]));
        } else {
            drop(index);
        }
        let index = opened(&storage);
        check(&index);
        for n in KEYS..KEYS + 3000 * round {
            assert_eq!(index.get(&key(n)).unwrap(), Some(value(n, 1, 50)), "key {n}");
        }
    }
}
