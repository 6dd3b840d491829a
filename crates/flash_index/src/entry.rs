//! What a partition knows of one record: some bits of its key's digest, and the page it is in.
//!
//! The digest's high half is read from the top: the first `depth` bits choose the partition, the next ones are the
//! entry's fingerprint. When a partition is divided, its entries' first fingerprint bit becomes part of the prefix, so an
//! entry knows one bit less for each division since it was written. Invariant: an entry matches every digest that its key
//! may have; an entry without bits matches all.

use springbloom_filter::KeyDigest;

/// Least and most bits of a fingerprint when it is written.
const FINGERPRINT_BITS_MIN: u8 = 20;
pub(crate) const FINGERPRINT_BITS_MAX: u8 = 28;
/// Bits of the digest that prefix and fingerprint know together, within these bounds: what is written while the index is small
/// (and its pages' numbers short) has bits to lose.
const KNOWN_BITS: u8 = 36;
/// Longest prefix of a partition; 2^40 partitions are more than any device holds.
pub(crate) const DEPTH_MAX: u8 = 40;
/// Bits of a page's number.
pub(crate) const PAGE_BITS: u8 = 48;

/// Bits of the fingerprints that a partition of this depth writes.
#[inline]
pub(crate) fn fingerprint_bits(depth: u8) -> u8 {
    KNOWN_BITS.saturating_sub(depth).clamp(FINGERPRINT_BITS_MIN, FINGERPRINT_BITS_MAX)
}

/// Whether the key belongs to the partition of this depth at `prefix`.
#[inline]
pub(crate) fn belongs(digest: KeyDigest, prefix: u64, depth: u8) -> bool {
    depth == 0 || (digest.hi ^ prefix) >> (64 - depth) == 0
}

/// The `bits` bits of `digest` behind a prefix of `depth` bits. `depth + bits` is at most 64, `bits` at most 32.
#[inline]
pub(crate) fn fingerprint(digest: KeyDigest, depth: u8, bits: u8) -> u32 {
    match bits {
        0 => 0,
        bits => ((digest.hi << depth) >> (64 - bits)) as u32,
    }
}

/// One record's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Logical page of the record.
    pub(crate) page: u64,
    /// The lowest `bits` bits.
    pub(crate) fingerprint: u32,
    pub(crate) bits: u8,
}

impl Entry {
    /// The same entry knowing only `bits` bits, no more than it does.
    pub(crate) fn truncated(self, bits: u8) -> Entry {
        Entry { fingerprint: self.fingerprint >> (self.bits - bits), bits, ..self }
    }

    /// The half of a divided partition that the entry belongs to, and the entry as it is there. An entry that knows no
    /// bit belongs to both.
    pub(crate) fn divided(self) -> (Option<bool>, Entry) {
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
    fn division_moves_a_bit_into_the_prefix() {
        let digest = KeyDigest { lo: 0, hi: 0xabcd_ef01_2345_6789 };
        let mut entry = Entry { page: 1, fingerprint: fingerprint(digest, 0, 20), bits: 20 };
        for depth in 1..=20 {
            let (half, child) = entry.divided();
            assert_eq!(half, Some(digest.hi >> (64 - depth) & 1 == 1));
            assert_eq!(child.fingerprint, fingerprint(digest, depth, 20 - depth));
            entry = child;
        }
        assert_eq!(entry.divided(), (None, entry), "no bits: both halves");
    }
}
