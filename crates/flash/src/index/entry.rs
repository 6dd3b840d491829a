//! What a partition knows of one record: some bits of its key's digest, and the page it is in.
//!
//! The digest's high half is read from the top: the first `depth` bits choose the partition, the next ones are the
//! entry's fingerprint. When a partition is divided, its entries' first fingerprint bit becomes part of the prefix, so an
//! entry knows one bit less for each division since it was written. Invariant: an entry matches every digest that its key
//! may have; an entry without bits matches all.

use springbloom_filter::KeyDigest;

/// Bits of a fingerprint when it is written.
pub(crate) const FINGERPRINT_BITS: u8 = 20;
/// Longest prefix of a partition; 2^40 partitions are more than any device holds.
pub(crate) const DEPTH_MAX: u8 = 40;
/// Bits of a page's number.
pub(crate) const PAGE_BITS: u8 = 48;

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

/// An entry that waits in memory, in six bytes: it knows all [`FINGERPRINT_BITS`], and its page lies at most 2^28 pages
/// (a tebibyte) behind the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PendingEntry([u16; 3]);

const PENDING_PAGE_BITS: u8 = 48 - FINGERPRINT_BITS;
/// Pages behind the newest that a pending entry can be.
pub(crate) const PENDING_PAGES_MAX: u64 = 1 << PENDING_PAGE_BITS;

impl PendingEntry {
    pub(crate) fn new(fingerprint: u32, page: u64) -> PendingEntry {
        let word = (u64::from(fingerprint) << PENDING_PAGE_BITS) | (page & (PENDING_PAGES_MAX - 1));
        PendingEntry([word as u16, (word >> 16) as u16, (word >> 32) as u16])
    }

    fn word(self) -> u64 {
        let [a, b, c] = self.0.map(u64::from);
        a | (b << 16) | (c << 32)
    }

    pub(crate) fn fingerprint(self) -> u32 {
        (self.word() >> PENDING_PAGE_BITS) as u32
    }

    /// The entry in full; `newest_page` is at or behind none of the pages that wait.
    pub(crate) fn entry(self, newest_page: u64) -> Entry {
        let behind = newest_page.wrapping_sub(self.word()) & (PENDING_PAGES_MAX - 1);
        Entry { page: newest_page - behind, fingerprint: self.fingerprint(), bits: FINGERPRINT_BITS }
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

    #[test]
    fn pending_entries_come_back_as_written() {
        assert_eq!(size_of::<PendingEntry>(), 6);
        let newest = 5 * PENDING_PAGES_MAX + 17;
        for page in [newest, newest - 1, newest - 18, newest - PENDING_PAGES_MAX + 1] {
            let entry = PendingEntry::new(0xabcde, page).entry(newest);
            assert_eq!(entry, Entry { page, fingerprint: 0xabcde, bits: 20 });
        }
    }
}
