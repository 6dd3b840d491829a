//! An entry: some bits of the digest of a key, and the page of its record.
//!
//! The first `depth` bits of the digest's high half select the partition. The next bits are the entry's fingerprint. When a partition
//! splits, the first bit of each fingerprint becomes part of the prefix, so an entry loses one bit per split. Invariant: an entry matches
//! every digest that its key may have. An entry without bits matches all digests.

use springbloom_filter::KeyDigest;

/// Minimum and maximum bits of a fingerprint when it is written.
const FINGERPRINT_BITS_MIN: u8 = 20;
pub(crate) const FINGERPRINT_BITS_MAX: u8 = 28;
/// Bits of prefix and fingerprint together, within these bounds. Entries written while the index is small have short page numbers and more
/// bits to lose in splits.
const KNOWN_BITS: u8 = 36;
/// Longest prefix of a partition, in bits. No device holds 2^40 partitions.
pub(crate) const DEPTH_MAX: u8 = 40;
/// Bits of a page number.
pub(crate) const PAGE_BITS: u8 = 48;

/// Bits of new fingerprints in a partition of this depth.
#[inline]
pub(crate) fn fingerprint_bits(depth: u8) -> u8 {
    KNOWN_BITS.saturating_sub(depth).clamp(FINGERPRINT_BITS_MIN, FINGERPRINT_BITS_MAX)
}

/// Whether the digest belongs to the partition of this depth at `prefix`.
#[inline]
pub(crate) fn belongs(digest: KeyDigest, prefix: u64, depth: u8) -> bool {
    depth == 0 || (digest.hi ^ prefix) >> (64 - depth) == 0
}

/// The `bits` bits of `digest` that follow a prefix of `depth` bits. `depth + bits` is at most 64, `bits` at most 32.
#[inline]
pub(crate) fn fingerprint(digest: KeyDigest, depth: u8, bits: u8) -> u32 {
    match bits {
        0 => 0,
        bits => ((digest.hi << depth) >> (64 - bits)) as u32,
    }
}

/// The entry of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Logical page of the record.
    pub(crate) page: u64,
    /// Fingerprint, in the lowest `bits` bits.
    pub(crate) fingerprint: u32,
    pub(crate) bits: u8,
}

impl Entry {
    /// The same entry with `bits` bits, which must not be more than it has.
    pub(crate) fn truncated(self, bits: u8) -> Entry {
        Entry { fingerprint: self.fingerprint >> (self.bits - bits), bits, ..self }
    }

    /// The half of a split partition that the entry belongs to (`None`: both, as it has no bits left), and the entry in that half.
    pub(crate) fn split(self) -> (Option<bool>, Entry) {
        let Some(bits) = self.bits.checked_sub(1) else { return (None, self) };
        let is_upper = self.fingerprint >> bits == 1;
        (Some(is_upper), Entry { fingerprint: self.fingerprint & ((1 << bits) - 1), bits, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_follow_the_prefix() {
        let digest = KeyDigest { lo: 0, hi: 0xabcd_ef01_2345_6789 };
        assert_eq!(fingerprint(digest, 0, 8), 0xab);
        assert_eq!(fingerprint(digest, 8, 20), 0xcdef0);
        assert_eq!(fingerprint(digest, 40, 20), 0x45678);
        assert_eq!(fingerprint(digest, 3, 0), 0);
    }

    #[test]
    fn a_split_moves_a_bit_into_the_prefix() {
        let digest = KeyDigest { lo: 0, hi: 0xabcd_ef01_2345_6789 };
        let mut entry = Entry { page: 1, fingerprint: fingerprint(digest, 0, 20), bits: 20 };
        for depth in 1..=20 {
            let (half, child) = entry.split();
            assert_eq!(half, Some(digest.hi >> (64 - depth) & 1 == 1));
            assert_eq!(child.fingerprint, fingerprint(digest, depth, 20 - depth));
            entry = child;
        }
        assert_eq!(entry.split(), (None, entry), "no bits: both halves");
    }
}
