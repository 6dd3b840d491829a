//! Memory for the most keys: half as much, for more reads of absent keys.

use std::sync::Arc;

use springbloom_flash_index::{FlashIndex, IndexMemory, IndexSettings};
use springbloom_flash_testkit::{SimPower, SimStorage};

const KEYS: u64 = 1_000_000;

/// Memory per key, and reads per absent key.
fn measured(memory: IndexMemory) -> (f64, f64) {
    let storage = Arc::new(SimStorage::new(SimPower::steady()));
    let memory = IndexMemory { pending_bytes_min: 0, ..memory };
    // For fewer keys: each partition that an index begins with has room for pending entries.
    let index = FlashIndex::create_in(storage, IndexSettings::new(0), memory, 1).unwrap();
    let empty = index.info().memory_bytes;
    let key = |n: u64| n.to_le_bytes();
    for first in (0..KEYS).step_by(10_000) {
        let keys: Vec<[u8; 8]> = (first..first + 10_000).map(key).collect();
        index.put_many(&keys.iter().map(|key| (&key[..], &key[..])).collect::<Vec<_>>()).unwrap();
    }
    let ask = |from: u64| {
        let keys: Vec<[u8; 8]> = (from..from + 100_000).map(key).collect();
        let found = index.get_many(&keys.iter().map(|key| &key[..]).collect::<Vec<_>>()).unwrap();
        found.iter().flatten().count()
    };
    assert_eq!(ask(KEYS / 2), 100_000);
    let before = index.stats().bucket_reads;
    assert_eq!(ask(KEYS), 0);
    let reads = (index.stats().bucket_reads - before) as f64 / 100_000.0;
    ((index.info().memory_bytes - empty) as f64 / KEYS as f64, reads)
}

#[test]
fn half_the_memory_costs_reads_of_absent_keys() {
    let (standard, lean) = std::thread::scope(|scope| {
        let standard = scope.spawn(|| measured(IndexMemory::standard()));
        let lean = measured(IndexMemory::lean());
        (standard.join().unwrap(), lean)
    });
    println!("bytes per key, reads per absent key: {standard:?}, lean {lean:?}");
    assert!(lean.0 < standard.0 * 0.6, "{lean:?}, {standard:?}");
    // Of two filters with 1 and 2 units, 5 of 8 absent keys pass one.
    assert!(lean.1 < 5.0 / 8.0 + 0.02 && lean.1 > standard.1, "{lean:?}, {standard:?}");
}
