//! What the targets of the flash filter share: filters in memory, and blocks sealed as `docs/filter-format.md` says.
#![allow(dead_code, reason = "every target uses its own part")]

use std::sync::{Arc, OnceLock};

use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashFilter, Layout};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage};
use springbloom_page_device::{AlignedBuf, Storage};

/// Keys of the filters below that are in their pages, and those that are in the log alone.
pub const FLUSHED: std::ops::Range<u64> = 0..600;
pub const LOGGED: std::ops::Range<u64> = 600..700;

pub const LAYOUTS: [Layout; 2] = [Layout::Hierarchical, Layout::TwoChoices];

pub fn buffer() -> BufferSettings {
    BufferSettings { group_pages: 2, ..BufferSettings::with_memory_bytes(64 << 10) }
}

pub fn key(n: u64) -> KeyDigest {
    KeyDigest::of(&n.to_le_bytes())
}

pub fn keys(range: std::ops::Range<u64>) -> Vec<KeyDigest> {
    range.map(key).collect()
}

/// A copy of a filter that holds [`FLUSHED`] and [`LOGGED`], made once for each layout.
pub fn template(layout: u8) -> Arc<SimStorage> {
    static MADE: [OnceLock<SimStorage>; 2] = [OnceLock::new(), OnceLock::new()];
    let number = usize::from(layout) % LAYOUTS.len();
    let storage = MADE[number].get_or_init(|| {
        let storage = Arc::new(SimStorage::new(SimPower::steady()));
        let settings = FilterSettings::new(10_000, 0.01).layout(LAYOUTS[number]);
        let filter = FlashFilter::create_in(storage.clone(), &settings, buffer()).expect("create");
        filter.insert_many(&keys(FLUSHED)).and_then(|()| filter.flush()).expect("flush");
        for first in LOGGED.step_by(20) {
            filter.insert_many(&keys(first..first + 20)).and_then(|()| filter.commit()).expect("commit");
        }
        drop(filter);
        storage.after_power_loss(PowerLoss::KILLED, 0)
    });
    Arc::new(storage.after_power_loss(PowerLoss::KILLED, 0))
}

/// Length of a device.
pub fn len_bytes(storage: &SimStorage, name: &str) -> usize {
    storage.open(name).expect("a device of the filter").len_bytes() as usize
}

/// The salt in the header of the filter.
pub fn salt(storage: &SimStorage) -> u64 {
    let mut header = AlignedBuf::new(4096);
    storage.open("filter-0000").and_then(|device| device.read_at(0, &mut header)).expect("a header");
    let mut salt = [0; 8];
    salt.copy_from_slice(&header[24..32]);
    u64::from_le_bytes(salt)
}

/// Puts the checksum in its place that makes `block` a block of the log number `index`.
pub fn seal_log_block(salt: u64, block: &mut [u8]) {
    let mut index = [0; 4];
    index.copy_from_slice(&block[32..36]);
    let index = u64::from(u32::from_le_bytes(index));
    let sum = KeyDigest::of(&block[8..4096]).lo ^ mix(salt ^ index.wrapping_mul(GOLDEN));
    block[..8].copy_from_slice(&sum.to_le_bytes());
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
