//! Shared by the tests: small indexes that split and reclaim early, and keys with values that identify them.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use std::sync::Arc;

use springbloom_flash_index::{FlashIndex, IndexMemory, IndexSettings, Pair};
use springbloom_flash_testkit::{SimPower, SimStorage};

/// Small buckets and zones, and memory for a few hundred pending entries.
pub fn small() -> (IndexSettings, IndexMemory) {
    let settings = IndexSettings { expected_keys: 0, bucket_sectors: 4, zone_pages: 32 };
    let memory =
        IndexMemory { pending_bytes_per_record: 0.16, pending_bytes_min: 6 * 400, ..IndexMemory::standard() };
    (settings, memory)
}

pub fn steady() -> Arc<SimStorage> {
    Arc::new(SimStorage::new(SimPower::steady()))
}

pub fn created(storage: &Arc<SimStorage>) -> FlashIndex {
    let (settings, memory) = small();
    FlashIndex::create_in(storage.clone(), settings, memory, 77).unwrap()
}

pub fn opened(storage: &Arc<SimStorage>) -> FlashIndex {
    FlashIndex::open_in(storage.clone(), small().1).unwrap()
}

/// 8 to 40 bytes.
pub fn key(n: u64) -> Vec<u8> {
    let mut key = n.to_be_bytes().to_vec();
    key.resize(8 + (n % 33) as usize, 0x5a);
    key
}

/// The same, but every fiftieth key has 256 to 20,000 bytes.
pub fn any_key(n: u64) -> Vec<u8> {
    let mut key = key(n);
    if n % 50 == 7 {
        key.resize(256 + (n * 7919 % 19_745) as usize, n as u8);
    }
    key
}

/// A value of `len_bytes` that identifies key and version.
pub fn value(n: u64, version: u64, len_bytes: usize) -> Vec<u8> {
    let pattern: Vec<u8> = n.to_le_bytes().into_iter().chain(version.to_le_bytes()).collect();
    pattern.into_iter().cycle().take(len_bytes).collect()
}

/// All keys with their values, in the order of a scan.
pub fn scanned(index: &FlashIndex) -> Vec<Pair> {
    let mut scan = index.scan();
    std::iter::from_fn(|| index.scan_on(&mut scan).unwrap()).flatten().collect()
}
