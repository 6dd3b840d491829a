//! Readers next to a writer, through flushes, splits and reclaiming, and writers that share syncs.

mod support;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rand::RngExt;
use springbloom_flash_index::Watch;
use springbloom_testkit::seed;
use support::{created, key, steady};

#[test]
fn readers_see_every_key_and_no_key_goes_back_in_time() {
    const KEYS: u64 = 3000;
    let storage = steady();
    let index = created(&storage);
    for n in 0..KEYS {
        index.put(&key(n), &0u64.to_le_bytes()).unwrap();
    }
    let seed = seed::seed("readers_see_every_key_and_no_key_goes_back_in_time");
    let newest: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let (index, newest, is_over) = (&index, &newest, &is_over);
            scope.spawn(move || {
                let mut rng = seed::rng_from(seed ^ reader);
                while !is_over.load(Ordering::Relaxed) {
                    let numbers: Vec<u64> = (0..64).map(|_| rng.random_range(0..KEYS)).collect();
                    let names: Vec<Vec<u8>> = numbers.iter().map(|n| key(*n)).collect();
                    let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
                    let least: Vec<u64> =
                        numbers.iter().map(|n| newest[*n as usize].load(Ordering::SeqCst)).collect();
                    for ((n, least), value) in numbers.iter().zip(least).zip(index.get_many(&wanted).unwrap())
                    {
                        let value = value.unwrap_or_else(|| panic!("key {n} is gone"));
                        let version = u64::from_le_bytes(value.try_into().unwrap());
                        assert!(version >= least, "key {n}: version {version} after {least}");
                    }
                }
            });
        }
        let mut rng = seed::rng_from(!seed);
        for version in 1..60_000u64 {
            let n = rng.random_range(0..KEYS);
            index.put(&key(n), &version.to_le_bytes()).unwrap();
            newest[n as usize].store(version, Ordering::SeqCst);
            if version % 10_000 == 0 {
                index.compact(&mut Watch::none()).unwrap();
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let stats = index.stats();
    assert!(stats.zones_reclaimed > 10 && stats.lookups > 0, "{stats:?}");
}

#[test]
fn concurrent_flushes_share_syncs_and_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (settings, memory) = support::small();
    let index = springbloom_flash_index::FlashIndex::create(directory.path(), settings, memory).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let index = &index;
            scope.spawn(move || {
                for n in 0..50 {
                    index.put(&key(thread * 1000 + n), b"value").unwrap();
                    index.commit().unwrap();
                }
            });
        }
    });
    assert!(index.stats().log_syncs <= 400, "{:?}", index.stats());
    drop(index);
    let index = springbloom_flash_index::FlashIndex::open(directory.path(), memory).unwrap();
    for thread in 0..8 {
        for n in 0..50 {
            assert_eq!(index.get(&key(thread * 1000 + n)).unwrap().as_deref(), Some(&b"value"[..]));
        }
    }
}
