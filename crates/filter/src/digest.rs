//! The 128-bit hash of a key, computed once per lookup and shared by every unit, segment and table it meets
//! (SHaMBa, VLDB'23 section 4: sharing one digest is what makes many small filters affordable).

use xxhash_rust::xxh3::xxh3_128;

/// XXH3-128 of a user key with seed 0, as two halves. Part of the on-disk format: it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyDigest {
    /// Low 64 bits of the 128-bit hash.
    pub lo: u64,
    /// High 64 bits of the 128-bit hash.
    pub hi: u64,
}

impl KeyDigest {
    /// Hashes `key`; about 5 ns for a 24-byte key, no allocation.
    #[inline]
    pub fn of(key: &[u8]) -> Self {
        let hash = xxh3_128(key);
        Self { lo: hash as u64, hi: (hash >> 64) as u64 }
    }
}
