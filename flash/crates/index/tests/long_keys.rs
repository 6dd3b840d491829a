//! Keys of up to 64 KiB, and indexes of the version before there were any.

mod support;

use std::sync::Arc;

use springbloom_flash_index::{FlashError, FlashIndex, INDEX_VERSION, IndexSettings, KEY_BYTES_MAX, Watch};
use springbloom_flash_testkit::{PowerLoss, SimStorage};
use springbloom_page_device::{Storage, checksum};
use support::{created, key, opened, scanned, small, steady, value};

/// Lengths around each change of the form: one byte of length, what fits a page, whole pages, the longest.
const LENGTHS: [usize; 12] = [1, 254, 255, 256, 257, 3800, 4033, 4072, 4073, 12_216, 40_000, KEY_BYTES_MAX];

/// Zones that hold the longest record.
fn in_large_zones(storage: &Arc<SimStorage>) -> FlashIndex {
    let (settings, memory) = small();
    let settings = IndexSettings { zone_pages: 48, ..settings };
    FlashIndex::create_in(storage.clone(), settings, memory, 7).unwrap()
}

/// Keys of one length differ in their last byte alone.
fn long_key(len_bytes: usize, last: u8) -> Vec<u8> {
    let mut key = vec![b'k'; len_bytes];
    key[len_bytes - 1] = last;
    key
}

fn pairs() -> Vec<(Vec<u8>, Vec<u8>)> {
    let lengths =
        LENGTHS.into_iter().flat_map(|len| [0, 100, 5000, 65_536].map(|value_len| (len, value_len)));
    let pair = |(n, (len, value_len))| (long_key(len, n as u8), value(n, 1, value_len));
    (0..).zip(lengths).map(pair).collect()
}

fn assert_holds(index: &FlashIndex, pairs: &[(Vec<u8>, Vec<u8>)]) {
    let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| &key[..]).collect();
    let found = index.get_many(&keys).unwrap();
    let in_a_stream = index.stream(4).get_many(&keys).unwrap();
    for (((key, value), found), streamed) in pairs.iter().zip(found).zip(in_a_stream) {
        assert!(found.as_ref() == Some(value), "a key of {} bytes with {}", key.len(), value.len());
        assert!(streamed == found);
        assert_eq!(index.get(&long_key(key.len(), 0xee)).unwrap(), None, "differs in the last byte");
    }
}

#[test]
fn keys_of_every_length_survive_everything_that_moves_records() {
    let storage = steady();
    let index = in_large_zones(&storage);
    let pairs = pairs();
    for (key, value) in &pairs {
        index.put(key, b"earlier").unwrap();
        index.put(key, value).unwrap();
    }
    assert_holds(&index, &pairs);
    index.commit().unwrap();
    drop(index);
    let index = opened(&storage);
    assert_holds(&index, &pairs);
    // Buckets instead of pending entries, and every zone moved.
    (0..5000).for_each(|n| index.put(&key(n), b"x").unwrap());
    pairs.iter().for_each(|(key, _)| index.delete(key).unwrap());
    pairs.iter().for_each(|(key, value)| index.put(key, value).unwrap());
    assert!(index.compact(&mut Watch::none()).unwrap().records_moved > 0);
    assert_holds(&index, &pairs);
    assert_eq!(scanned(&index).iter().filter(|pair| pairs.contains(pair)).count(), pairs.len());
    assert!(index.verify(&mut Watch::none()).unwrap().is_sound());
    index.close().unwrap();
    let from: Arc<dyn Storage> = storage.clone();
    let saved = steady();
    let report = FlashIndex::salvage_in(&from, saved.clone(), 3).unwrap();
    assert!(!report.has_losses(), "{report:?}");
    assert_holds(&opened(&saved), &pairs);
    // Damaged buckets come back from the log.
    let bucket_bytes = storage.open("buckets").unwrap().len_bytes();
    for at in (0..bucket_bytes).step_by(2048) {
        storage.damage("buckets", at as usize, |bytes| bytes[9] ^= 1);
    }
    let index = opened(&storage);
    assert!(index.repair(&mut Watch::none()).unwrap() > 0);
    assert_holds(&index, &pairs);
    pairs.iter().for_each(|(key, _)| index.delete(key).unwrap());
    pairs.iter().for_each(|(key, _)| assert_eq!(index.get(key).unwrap(), None));
}

#[test]
fn a_long_key_that_is_put_again_and_again_fills_no_partition() {
    let storage = steady();
    let index = created(&storage);
    let key = long_key(6000, 1);
    for version in 0..4000 {
        index.put(&key, &value(1, version, 10)).unwrap();
    }
    assert_eq!(index.get(&key).unwrap(), Some(value(1, 3999, 10)));
}

#[test]
fn lengths_that_cannot_be_are_refused_before_anything_is_put() {
    let storage = steady();
    let index = in_large_zones(&storage);
    for (key, value) in [(0, 1), (KEY_BYTES_MAX + 1, 1), (1, 65_537)].map(|(k, v)| (vec![1; k], vec![1; v])) {
        let refused = index.put_many(&[(b"fine", b""), (&key, &value)]);
        assert!(matches!(refused, Err(FlashError::RecordLength { .. })), "{refused:?}");
    }
    assert_eq!(index.get(b"fine").unwrap(), None);
    // Together they need 33 pages.
    let small_zones = created(&steady());
    let refused = small_zones.put(&long_key(KEY_BYTES_MAX, 1), &[0; 65_536]).unwrap_err();
    assert!(refused.to_string().contains("larger zones"), "{refused}");
    small_zones.put(&long_key(KEY_BYTES_MAX, 1), &[0; 60_000]).unwrap();
}

/// Turns the manifests into those of version 3, whose bytes are the same otherwise.
fn make_version_3(storage: &SimStorage) {
    for name in ["manifest-a", "manifest-b"] {
        if storage.open(name).is_err() {
            continue;
        }
        storage.damage(name, 0, |bytes| {
            bytes[8..12].copy_from_slice(&3u32.to_le_bytes());
            let body_bytes = u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize;
            let head = u64::from_le_bytes(bytes[8..16].try_into().unwrap());
            let sum = checksum(head, 0, &bytes[24..24 + body_bytes]);
            bytes[16..24].copy_from_slice(&sum.to_le_bytes());
        });
    }
}

fn versions(storage: &SimStorage) -> Vec<u8> {
    let mut versions = Vec::new();
    for name in ["manifest-a", "manifest-b"] {
        if storage.open(name).is_ok() {
            storage.damage(name, 0, |bytes| versions.push(bytes[8]));
        }
    }
    versions
}

#[test]
fn an_index_of_version_3_is_read_as_it_is_and_becomes_one_of_version_4_before_it_changes() {
    let storage = steady();
    let index = created(&storage);
    (0..3000).for_each(|n| index.put(&key(n), &value(n, 1, 30)).unwrap());
    index.close().unwrap();
    make_version_3(&storage);
    let index = opened(&storage);
    (0..3000).for_each(|n| assert_eq!(index.get(&key(n)).unwrap(), Some(value(n, 1, 30))));
    index.close().unwrap();
    assert!(versions(&storage).iter().all(|version| *version == 3), "lookups change nothing");
    // The power goes at each operation of the first change.
    let mut operations = 0;
    loop {
        let copy = Arc::new(storage.after_power_loss(PowerLoss::TORN_SECTORS, 1));
        copy.power().cut_after(operations);
        let put = FlashIndex::open_in(copy.clone(), small().1)
            .and_then(|index| index.put(&long_key(300, 1), b"new").and_then(|()| index.commit()));
        let copy = Arc::new(copy.after_power_loss(PowerLoss::TORN_SECTORS, operations));
        let is_new = versions(&copy).contains(&(INDEX_VERSION as u8));
        assert!(is_new || put.is_err(), "a long key in an index of version 3");
        let index = opened(&copy);
        (0..3000).step_by(7).for_each(|n| assert_eq!(index.get(&key(n)).unwrap(), Some(value(n, 1, 30))));
        if put.is_ok() {
            assert_eq!(index.get(&long_key(300, 1)).unwrap().as_deref(), Some(&b"new"[..]));
            break;
        }
        operations += 1;
    }
    assert!(operations > 3, "{operations} operations");
}
