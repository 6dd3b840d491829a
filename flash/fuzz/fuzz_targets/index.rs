//! Any bytes in the files of a flash index, behind right checksums: opening, lookups, verification, puts and salvage end, with an
//! answer or with an error.
#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use springbloom_filter::KeyDigest;
use springbloom_flash_index::{FlashIndex, INDEX_PAGE_BYTES, IndexMemory, IndexSettings, Watch};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::Storage;

const SALT: u64 = 77;
const SECTOR_BYTES: usize = 512;

/// What is overwritten: where and with what, before the checksum is made right again.
#[derive(Arbitrary, Debug)]
enum Change {
    /// Behind the head of both manifests.
    Manifest(u16, Vec<u8>),
    /// In a page of the log, behind the check.
    Page(u8, u16, Vec<u8>),
    /// In a sector of a bucket's slot, behind the check, as if it were of the bucket with this version.
    Sector(u8, u8, u8, u16, Vec<u8>),
    /// Anywhere in any file, with the checksum left wrong.
    Damage(u8, u32, u8),
    /// In the list of what waits, behind the check.
    Waiting(u16, Vec<u8>),
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn overwrite(target: &mut [u8], at: u16, bytes: &[u8]) {
    let at = usize::from(at) % target.len();
    let len = bytes.len().min(target.len() - at);
    target[at..at + len].copy_from_slice(&bytes[..len]);
}

fn put_check(bytes: &mut [u8], place: u64) {
    let sum = KeyDigest::of(&bytes[4..]).lo ^ mix(SALT ^ place.wrapping_mul(GOLDEN));
    bytes[..4].copy_from_slice(&((sum ^ (sum >> 32)) as u32).to_le_bytes());
}

fn key(n: u32) -> [u8; 8] {
    u64::from(n).to_be_bytes()
}

fn memory() -> IndexMemory {
    let mut memory = IndexMemory::standard();
    (memory.pending_bytes_per_record, memory.pending_bytes_min) = (0.16, 64 * 200);
    memory
}

/// An index with buckets, a log, a long value and what a checkpoint leaves to be replayed.
fn template() -> &'static SimStorage {
    static TEMPLATE: OnceLock<SimStorage> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let storage = Arc::new(SimStorage::new(SimPower::steady()));
        let settings = IndexSettings { bucket_sectors: 4, zone_pages: 32, ..IndexSettings::new(0) };
        let index = FlashIndex::create_in(storage.clone(), settings, memory(), SALT).unwrap();
        for n in 0..700 {
            index.put(&key(n), &n.to_le_bytes()).unwrap();
        }
        index.put(&key(5000), &[7; 9000]).unwrap();
        index.delete(&key(1)).unwrap();
        index.compact(&mut Watch::none()).unwrap();
        for n in 700..760 {
            index.put(&key(n), b"replayed").unwrap();
        }
        index.close().unwrap();
        let index = FlashIndex::open_in(storage.clone(), memory()).unwrap();
        for n in 760..800 {
            index.put(&key(n), b"replayed behind what waits").unwrap();
        }
        index.commit().unwrap();
        drop(index);
        storage.after_power_loss(PowerLoss::KILLED, 1)
    })
}

fn apply(storage: &SimStorage, change: &Change) {
    let len = |file: &str| storage.open(file).map_or(0, |device| device.len_bytes() as usize);
    match change {
        Change::Manifest(at, bytes) => {
            for file in ["manifest-a", "manifest-b"] {
                storage.damage(file, 0, |file| {
                    let body_bytes = u32::from_le_bytes(file[12..16].try_into().unwrap()) as usize;
                    overwrite(&mut file[24..24 + body_bytes], *at, bytes);
                    let head = u64::from_le_bytes(file[8..16].try_into().unwrap());
                    let sum = KeyDigest::of(&file[24..24 + body_bytes]).lo ^ mix(head);
                    file[16..24].copy_from_slice(&sum.to_le_bytes());
                });
            }
        }
        Change::Page(page, at, bytes) => {
            let page = usize::from(*page) % (len("records") / INDEX_PAGE_BYTES).max(1);
            storage.damage("records", page * INDEX_PAGE_BYTES, |file| {
                let file = &mut file[..INDEX_PAGE_BYTES];
                overwrite(&mut file[4..], *at, bytes);
                let number = u64::from_le_bytes(file[8..16].try_into().unwrap());
                put_check(file, number);
            });
        }
        Change::Sector(slot, sector, version, at, bytes) => {
            let slots = (len("buckets") / (4 * SECTOR_BYTES)).max(1);
            let (slot, sector) = (usize::from(*slot) % slots, usize::from(*sector) % 4);
            storage.damage("buckets", (slot * 4 + sector) * SECTOR_BYTES, |file| {
                let file = &mut file[..SECTOR_BYTES];
                overwrite(&mut file[4..], *at, bytes);
                let place = ((slot as u64) << 32 | u64::from(*version)).wrapping_add(mix(sector as u64));
                put_check(file, place);
            });
        }
        Change::Waiting(at, bytes) => {
            let len = len("waiting");
            storage.damage("waiting", 0, |file| {
                let file = &mut file[..len];
                overwrite(&mut file[8..], *at, bytes);
                let sequence = u64::from_le_bytes(file[8..16].try_into().unwrap());
                let sum = KeyDigest::of(&file[8..]).lo ^ mix(SALT ^ mix(sequence).wrapping_mul(GOLDEN));
                file[..8].copy_from_slice(&sum.to_le_bytes());
            });
        }
        Change::Damage(file, at, xor) => {
            let file = ["records", "buckets", "manifest-a", "manifest-b", "waiting", "wal-a", "wal-b"]
                [usize::from(file % 7)];
            let at = *at as usize % len(file).max(1);
            storage.damage(file, at, |bytes| bytes[0] ^= xor);
        }
    }
}

fuzz_target!(|changes: Vec<Change>| {
    let storage = Arc::new(template().after_power_loss(PowerLoss::KILLED, 1));
    changes.iter().for_each(|change| apply(&storage, change));
    if changes.len() % 4 == 1 {
        let salvaged = Arc::new(SimStorage::new(SimPower::steady()));
        let from: Arc<dyn Storage> = storage.clone();
        let _ = FlashIndex::salvage_in(&from, salvaged, 5);
    }
    let Ok(index) = FlashIndex::open_in(storage.clone(), memory()) else { return };
    let names: Vec<[u8; 8]> = (0..800).step_by(7).chain([5000]).map(key).collect();
    let wanted: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
    let _ = index.get_many(&wanted);
    let _ = index.stream(2).get_many(&wanted);
    let _ = index.verify(&mut Watch::none());
    let _ = index.repair(&mut Watch::none());
    let mut scan = index.scan();
    while let Ok(Some(_)) = index.scan_on(&mut scan) {}
    for n in 4000..4100 {
        if index.put(&key(n), b"new").is_err() {
            return;
        }
    }
    let _ = index.commit();
    let _ = index.compact(&mut Watch::none());
    let _ = index.close();
});
