//! Shared by the tests of the public interface.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part")]

pub mod watched;

use std::sync::Arc;

use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{BufferSettings, FlushPolicy};
use springbloom_flash_testkit::{SimPower, SimStorage};

/// Digest of the n-th key of a family. Families have no keys in common.
pub fn key(family: u64, n: u64) -> KeyDigest {
    KeyDigest::of(format!("{family}/{n}").as_bytes())
}

/// Digests of keys `range` of `family`.
pub fn keys(family: u64, range: std::ops::Range<u64>) -> Vec<KeyDigest> {
    range.map(|n| key(family, n)).collect()
}

pub fn memory() -> Arc<SimStorage> {
    Arc::new(SimStorage::new(SimPower::steady()))
}

/// Small groups and little memory, so that a few thousand keys cause many flushes.
pub fn small_buffer(policy: FlushPolicy) -> BufferSettings {
    BufferSettings { policy, group_pages: 4, ..BufferSettings::with_memory_bytes(64 << 10) }
}
