//! Compares the index with a map, through everything that moves records and entries.
//!
//! `SPRINGBLOOM_OPERATIONS` sets the number of random operations (default 60,000).

mod support;

use std::collections::HashMap;

use rand::RngExt;
use springbloom_flash_index::FlashError;
use springbloom_flash_index::{FlashIndex, IndexMemory, IndexSettings, Watch};
use springbloom_testkit::seed;
use support::{any_key as key, created, opened, scanned, small, steady, value};

/// Looks up all keys, in batches, present and absent ones.
fn compare(index: &FlashIndex, model: &HashMap<u64, Vec<u8>>, keys: std::ops::Range<u64>) {
    let names: Vec<Vec<u8>> = keys.clone().map(key).collect();
    let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    for (n, got) in keys.zip(index.get_many(&wanted).unwrap()) {
        assert_eq!(got.as_ref(), model.get(&n), "key {n}");
    }
}

/// A lookup goes through the pending entries of its partition.
#[test]
fn much_memory_makes_no_lookup_long() {
    let memory = IndexMemory { pending_bytes_min: 1 << 30, ..IndexMemory::standard() };
    let index = FlashIndex::create_in(steady(), IndexSettings::new(0), memory, 1).unwrap();
    for n in 0..300_000u64 {
        index.put(&n.to_le_bytes(), b"value").unwrap();
        if n % 1000 == 0 {
            let info = index.info();
            assert!(info.pending_entries <= 600 * info.partitions, "{info:?}");
        }
    }
}

#[test]
fn random_operations_agree_with_a_map_across_reopenings() {
    let mut rng = seed::rng("random_operations_agree_with_a_map_across_reopenings");
    let storage = steady();
    let mut index = created(&storage);
    let mut model = HashMap::new();
    const KEYS: u64 = 6000;
    let operations =
        std::env::var("SPRINGBLOOM_OPERATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(60_000u64);
    for version in 0..operations {
        let n = rng.random_range(0..KEYS);
        match rng.random_range(0..1000) {
            0..550 => {
                let len = match rng.random_range(0..200) {
                    0 => rng.random_range(0..=65_536),
                    1..10 => rng.random_range(0..6000),
                    _ => rng.random_range(0..80),
                };
                let value = value(n, version, len);
                index.put(&key(n), &value).unwrap();
                model.insert(n, value);
            }
            550..650 => {
                index.delete(&key(n)).unwrap();
                model.remove(&n);
            }
            650..990 => assert_eq!(index.get(&key(n)).unwrap().as_ref(), model.get(&n), "key {n}"),
            990..998 => index.commit().unwrap(),
            998 => {
                index.close().unwrap();
                index = opened(&storage);
            }
            _ => {
                index.commit().unwrap();
                drop(index);
                index = opened(&storage);
            }
        }
    }
    compare(&index, &model, 0..KEYS + 500);
    let before = index.info();
    let report = index.compact(&mut Watch::none()).unwrap();
    assert!(report.zones_reclaimed > 0, "{report:?} {before:?}");
    compare(&index, &model, 0..KEYS + 500);
    let mut found = HashMap::new();
    for (key, value) in scanned(&index) {
        assert!(found.insert(key, value).is_none(), "twice");
    }
    assert_eq!(found.len(), model.len());
    assert!(model.iter().all(|(n, value)| found[&key(*n)] == *value));
    let verified = index.verify(&mut Watch::none()).unwrap();
    assert!(verified.is_sound() && verified.records >= model.len() as u64, "{verified:?}");
    index.close().unwrap();
    compare(&opened(&storage), &model, 0..KEYS + 500);
}

#[test]
fn space_is_used_again() {
    let storage = steady();
    let index = created(&storage);
    let mut most = 0;
    for version in 0..40u64 {
        for n in 0..2000 {
            index.put(&key(n), &value(n, version, 100)).unwrap();
        }
        if version == 10 {
            most = index.info().log_bytes;
        }
    }
    let (info, stats) = (index.info(), index.stats());
    assert!(info.log_bytes < 2 * most, "{most} {info:?}");
    assert!(
        stats.records_moved < stats.records_appended,
        "at most one moved for each one reclaimed: {stats:?}"
    );
    for n in 0..2000 {
        assert_eq!(index.get(&key(n)).unwrap(), Some(value(n, 39, 100)));
    }
}

#[test]
fn a_growing_index_splits_and_stays_exact() {
    let storage = steady();
    let index = created(&storage);
    let keys: Vec<Vec<u8>> = (0..40_000).map(key).collect();
    for batch in keys.chunks(500) {
        let pairs: Vec<(&[u8], &[u8])> = batch.iter().map(|key| (&key[..], &key[..8])).collect();
        index.put_many(&pairs).unwrap();
    }
    let info = index.info();
    assert!(info.partitions > 64, "{info:?}");
    let check = |index: &FlashIndex| {
        let wanted: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        for (key, value) in keys.iter().zip(index.get_many(&wanted).unwrap()) {
            assert_eq!(value.as_deref(), Some(&key[..8]));
        }
    };
    check(&index);
    index.close().unwrap();
    check(&opened(&storage));
}

#[test]
fn an_index_far_below_its_expected_size_writes_no_bucket_for_every_key() {
    let (settings, memory) = small();
    let settings = IndexSettings { expected_keys: 300 << 12, ..settings };
    let index = FlashIndex::create_in(steady(), settings, memory, 77).unwrap();
    let keys = 100_000;
    (0..keys).for_each(|n| index.put(&key(n), b"value").unwrap());
    let (info, stats) = (index.info(), index.stats());
    assert!(info.partitions >= 1 << 12, "{info:?}");
    assert!(stats.bucket_bytes_written / keys < 200, "{stats:?}");
    assert_eq!(index.get(&key(7)).unwrap().as_deref(), Some(&b"value"[..]));
}

#[test]
fn one_key_put_for_ever_does_not_fill_its_partition() {
    let storage = steady();
    let index = created(&storage);
    for version in 0..50_000u64 {
        index.put(b"counter", &version.to_le_bytes()).unwrap();
    }
    assert_eq!(index.get(b"counter").unwrap(), Some(49_999u64.to_le_bytes().to_vec()));
    assert!(index.info().partitions < 8, "{:?}", index.info());
}

#[test]
fn what_no_record_can_hold_is_refused() {
    let storage = steady();
    let index = created(&storage);
    for (key, value) in [(&b""[..], 0), (&[1; 65_537], 0), (b"k", 65_537)] {
        assert!(matches!(index.put(key, &vec![0; value]), Err(FlashError::RecordLength { .. })));
    }
    index.put(&[1; 255], &vec![7; 65_536]).unwrap();
    assert_eq!(index.get(&[1; 255]).unwrap(), Some(vec![7; 65_536]));
    assert!(matches!(index.get(b""), Err(FlashError::RecordLength { .. })));
}

#[test]
fn only_an_index_is_opened_and_none_is_overwritten() {
    let storage = steady();
    let missing = FlashIndex::open_in(storage.clone(), small().1);
    assert!(matches!(missing.err(), Some(FlashError::NotFound { .. })));
    created(&storage).close().unwrap();
    let (settings, memory) = small();
    let again = FlashIndex::create_in(storage.clone(), settings, memory, 1);
    assert!(matches!(again.err(), Some(FlashError::NotEmpty { .. })));
}

#[test]
fn a_stream_is_answered_correctly_from_readahead_windows() {
    let storage = steady();
    let index = created(&storage);
    let keys: Vec<Vec<u8>> = (0..30_000).map(key).collect();
    for key in &keys {
        index.put(key, &key[..8]).unwrap();
    }
    index.commit().unwrap();
    let absent: Vec<Vec<u8>> = (100_000..130_000).map(key).collect();
    let mut stream = index.stream(4);
    let before = index.stats();
    for (batch, absent) in keys.chunks(500).zip(absent.chunks(500)) {
        // Every tenth key was never put.
        let wanted: Vec<&[u8]> = batch
            .iter()
            .zip(absent)
            .enumerate()
            .map(|(n, (key, other))| if n % 10 == 3 { other } else { key })
            .map(Vec::as_slice)
            .collect();
        for (n, (key, value)) in wanted.iter().zip(stream.get_many(&wanted).unwrap()).enumerate() {
            assert_eq!(value.as_deref(), (n % 10 != 3).then_some(&key[..8]));
        }
    }
    let after = index.stats();
    assert!(after.readahead_hits > 20_000, "{after:?}");
    let reads = after.bucket_reads + after.page_reads + after.readahead_reads
        - before.bucket_reads
        - before.page_reads;
    assert!(reads < 6_000, "{reads} reads for 30,000 keys: {after:?}");
}
