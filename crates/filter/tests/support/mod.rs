//! Shared by the tests over all kinds.

use springbloom_filter::{BuiltGroup, FilterGroup, KeyDigest, UnitSettings};

/// Every kind, with the unit counts and sizes that matter.
pub(crate) fn every_settings() -> Vec<UnitSettings> {
    let bloom = |units, bits| UnitSettings::bloom(units, bits).unwrap();
    let mut all: Vec<_> = (1..=8).map(|bits| bloom(6, bits)).collect();
    all.extend([bloom(1, 4), bloom(32, 1), bloom(32, 8)]);
    all.extend([1, 2, 3, 4, 5, 8, 24, 31, 32].map(|units| UnitSettings::ribbon(units).unwrap()));
    all
}

/// Digest of the `i`-th key of a set; different sets have no key in common.
pub(crate) fn digest(set: u64, i: u64) -> KeyDigest {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&set.to_be_bytes());
    key[8..].copy_from_slice(&i.to_be_bytes());
    KeyDigest::of(&key)
}

pub(crate) fn digests(set: u64, count: usize) -> Vec<KeyDigest> {
    (0..count as u64).map(|i| digest(set, i)).collect()
}

pub(crate) fn prefix(built: &BuiltGroup, resident_units: u8) -> FilterGroup {
    let units: Vec<&[u8]> = built.units[..usize::from(resident_units)].iter().map(Vec::as_slice).collect();
    FilterGroup::from_units(built.shape, &units).unwrap()
}
