//! What the cache is asked for.

use springbloom_filter::KeyDigest;

/// A key that a table does not hold.
pub(crate) struct AbsentKey<'a> {
    pub(super) table: u32,
    /// The key without the prefix that all keys of the table share.
    pub(super) key: &'a [u8],
    pub(super) hash: u64,
}

impl<'a> AbsentKey<'a> {
    /// `table` is the table's number among all tables ever known. `key` may lack the table's common prefix.
    #[inline]
    pub(crate) fn new(table: u32, key: &'a [u8], digest: KeyDigest) -> Self {
        let mixed = (digest.hi ^ u64::from(table)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self { table, key, hash: mixed ^ mixed >> 32 }
    }
}
