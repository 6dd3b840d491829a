//! Independent 64-bit hashes from one 128-bit digest.
//!
//! Invariant: hashes under different keys are independent. The product of two keyed halves is not linear in the digest, so sums of hashes
//! do not cancel, as sums of `lo + u * hi` would.

use crate::KeyDigest;

/// Hash of `digest` under `key`: XORs each half of the digest with its half of the key, multiplies them, and XORs the halves of the 128-bit
/// product.
#[inline]
pub(crate) fn fold(digest: KeyDigest, key: (u64, u64)) -> u64 {
    let product = u128::from(digest.lo ^ key.0) * u128::from(digest.hi ^ key.1);
    product as u64 ^ (product >> 64) as u64
}

/// Output `index` of SplitMix64 seeded with 0 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). Source of
/// all keys.
pub(crate) const fn splitmix64(index: u64) -> u64 {
    let mut z = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
