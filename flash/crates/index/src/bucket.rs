//! The entries of a partition on flash, in sectors that are appended and never rewritten in place. Layout: `docs/index.md`.
//!
//! Entries are ordered by page within a sector, oldest first, and mostly from sector to sector. The checksum of each sector is keyed with
//! slot and version of the bucket, so stale sectors of another bucket fail the check.

use springbloom_filter::KeyDigest;

use crate::entry::{Entry, PAGE_BITS, fingerprint};
use springbloom_page_device::{SECTOR_BYTES, checksum_32, mix, u16_at, u32_at, u48_at, u64_at};

const HEAD_BYTES: usize = 14;
const BODY_BITS: usize = (SECTOR_BYTES - HEAD_BYTES) * 8;

/// Key of the checksums of one bucket. Unique within the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketKey {
    pub(crate) salt: u64,
    /// Place on the device, in buckets.
    pub(crate) slot: u32,
    /// Number of the bucket in the order of creation.
    pub(crate) version: u32,
}

impl BucketKey {
    fn check(&self, sector: usize, bytes: &[u8]) -> u32 {
        let place = (u64::from(self.slot) << 32 | u64::from(self.version)).wrapping_add(mix(sector as u64));
        checksum_32(self.salt, place, &bytes[4..SECTOR_BYTES])
    }
}

/// How many of `entries` fit the next sector. `entries` is not empty and ordered by page.
fn fitting(entries: &[Entry]) -> usize {
    let (mut bits, first) = (entries[0].bits, entries[0].page);
    entries
        .iter()
        .enumerate()
        .take_while(|(i, entry)| {
            bits = bits.min(entry.bits);
            (i + 1) * (usize::from(bits) + usize::from(width(entry.page - first))) <= BODY_BITS
        })
        .count()
}

fn width(value: u64) -> u8 {
    (64 - value.leading_zeros()) as u8
}

/// Cuts `entries`, ordered by page, into runs of one sector each.
pub(crate) fn runs(mut entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    std::iter::from_fn(move || {
        if entries.is_empty() {
            return None;
        }
        let (run, rest) = entries.split_at(fitting(entries).max(1));
        entries = rest;
        Some(run)
    })
}

/// Writes `run`, one of [`runs`], as sector number `sector`.
pub(crate) fn encode(key: BucketKey, sector: usize, run: &[Entry], out: &mut [u8]) {
    let bits = run.iter().map(|entry| entry.bits).min().unwrap_or(0);
    let first = run.first().map_or(0, |entry| entry.page);
    let page_bits = width(run.last().map_or(0, |entry| entry.page) - first);
    out.fill(0);
    out[4..6].copy_from_slice(&(run.len() as u16).to_le_bytes());
    (out[6], out[7]) = (bits, page_bits);
    out[8..14].copy_from_slice(&first.to_le_bytes()[..6]);
    let body = &mut out[HEAD_BYTES..SECTOR_BYTES];
    for (i, entry) in run.iter().enumerate() {
        put_bits(body, i * usize::from(bits), bits, entry.truncated(bits).fingerprint.into());
        let at = run.len() * usize::from(bits) + i * usize::from(page_bits);
        put_bits(body, at, page_bits, entry.page - first);
    }
    let check = key.check(sector, out);
    out[..4].copy_from_slice(&check.to_le_bytes());
}

/// A sector with a valid checksum and valid fields.
struct Sector<'a> {
    body: &'a [u8],
    entries: usize,
    bits: u8,
    page_bits: u8,
    first: u64,
}

impl<'a> Sector<'a> {
    fn open(key: BucketKey, sector: usize, bytes: &'a [u8]) -> Option<Sector<'a>> {
        let open = Sector {
            body: &bytes[HEAD_BYTES..SECTOR_BYTES],
            entries: usize::from(u16_at(bytes, 4)),
            bits: bytes[6],
            page_bits: bytes[7],
            first: u48_at(bytes, 8),
        };
        let is_sane = u32_at(bytes, 0) == key.check(sector, bytes)
            && open.bits <= 32
            && open.page_bits <= PAGE_BITS
            && open.entries * (usize::from(open.bits) + usize::from(open.page_bits)) <= BODY_BITS;
        is_sane.then_some(open)
    }

    fn fingerprint(&self, i: usize) -> u32 {
        get_bits(self.body, i * usize::from(self.bits), self.bits) as u32
    }

    /// Calls `visit` with the number of each entry that has this fingerprint. This is the inner loop of every lookup.
    fn each_match(&self, wanted: u32, mut visit: impl FnMut(usize)) {
        macro_rules! in_blocks {
            ($($bits:literal)*) => {
                match self.bits {
                    $($bits => self.each_match_in_blocks::<$bits>(wanted, &mut visit),)*
                    _ => 0,
                }
            };
        }
        let compared = in_blocks!(16 17 18 19 20 21 22 23 24 25 26 28);
        (compared..self.entries).filter(|i| self.fingerprint(*i) == wanted).for_each(visit);
    }

    /// Compares eight entries at a time. A group of eight begins at a byte, so the place of each fingerprint is a compile-time constant.
    /// Works for fingerprints that four bytes hold. Returns how many entries were compared; fewer than eight are left.
    fn each_match_in_blocks<const BITS: usize>(&self, wanted: u32, visit: &mut impl FnMut(usize)) -> usize {
        let (blocks, _) = self.body.as_chunks::<BITS>();
        let blocks = &blocks[..self.entries / 8];
        for (first, block) in (0..).step_by(8).zip(blocks) {
            let is_match = |n: usize| {
                let at = (n * BITS / 8).min(BITS - 4);
                let shift = n * BITS - at * 8;
                let word = u32_at(block, at);
                (word ^ (wanted << shift)) & (u32::MAX >> (32 - BITS) << shift) == 0
            };
            if (0..8).any(is_match) {
                (0..8).filter(|n| is_match(*n)).for_each(|n| visit(first + n));
            }
        }
        blocks.len() * 8
    }

    fn page(&self, i: usize) -> u64 {
        let at = self.entries * usize::from(self.bits) + i * usize::from(self.page_bits);
        self.first + get_bits(self.body, at, self.page_bits)
    }
}

/// The sectors in `bytes`. `first` is the number of the first sector. The error is the number of a damaged sector.
fn sectors(key: BucketKey, first: usize, bytes: &[u8]) -> impl Iterator<Item = Result<Sector<'_>, usize>> {
    let numbered = (first..).zip(bytes.chunks_exact(SECTOR_BYTES));
    numbered.map(move |(number, bytes)| Sector::open(key, number, bytes).ok_or(number))
}

/// Calls `visit` with every entry in `bytes`. `first` is the number of the first sector. The error is the number of a damaged sector.
pub(crate) fn decode(
    key: BucketKey,
    first: usize,
    bytes: &[u8],
    mut visit: impl FnMut(Entry),
) -> Result<(), usize> {
    for sector in sectors(key, first, bytes) {
        let sector = sector?;
        for i in 0..sector.entries {
            visit(Entry { page: sector.page(i), fingerprint: sector.fingerprint(i), bits: sector.bits });
        }
    }
    Ok(())
}

/// Whether all sectors in `bytes` have valid checksums. `first` is the number of the first sector.
pub(crate) fn are_sound(key: BucketKey, first: usize, bytes: &[u8]) -> bool {
    sectors(key, first, bytes).all(|sector| sector.is_ok())
}

/// Appends to `pages` the page of each entry in `bytes` that matches `digest`. `first` is the number of the first sector, `depth` that of
/// the partition. The error is the number of a damaged sector.
pub(crate) fn matches(
    key: BucketKey,
    first: usize,
    bytes: &[u8],
    digest: KeyDigest,
    depth: u8,
    pages: &mut Vec<u64>,
) -> Result<(), usize> {
    for sector in sectors(key, first, bytes) {
        let sector = sector?;
        sector.each_match(fingerprint(digest, depth, sector.bits), |i| pages.push(sector.page(i)));
    }
    Ok(())
}

/// The first of the eight bytes that hold the bits from `at` on, and the position of the bits in them. Eight bytes hold any field, since a
/// field has at most 48 bits.
fn window(body: &[u8], at: usize) -> (usize, usize) {
    let byte = (at / 8).min(body.len() - 8);
    (byte, at - byte * 8)
}

#[inline]
fn get_bits(body: &[u8], at: usize, bits: u8) -> u64 {
    let (byte, shift) = window(body, at);
    let word = u64_at(body, byte);
    // A field of no bits may lie past the last byte. The mask makes it zero, whatever the shift gives.
    word.wrapping_shr(shift as u32) & ((1 << bits) - 1)
}

fn put_bits(body: &mut [u8], at: usize, bits: u8, value: u64) {
    let (byte, shift) = window(body, at);
    if bits > 0 {
        let word = u64_at(body, byte) | (value << shift);
        body[byte..byte + 8].copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: BucketKey = BucketKey { salt: 9, slot: 4, version: 2 };

    fn write(entries: &[Entry]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, run) in runs(entries).enumerate() {
            bytes.resize((number + 1) * SECTOR_BYTES, 0);
            encode(KEY, number, run, &mut bytes[number * SECTOR_BYTES..]);
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<Entry>, usize> {
        let mut entries = Vec::new();
        decode(KEY, 0, bytes, |entry| entries.push(entry)).map(|()| entries)
    }

    #[test]
    fn as_many_entries_fit_as_the_design_counts_on() {
        let entries: Vec<Entry> =
            (0..2000).map(|i| Entry { page: i * 400, fingerprint: i as u32 & 0xf_ffff, bits: 20 }).collect();
        assert_eq!(runs(&entries).next().unwrap().len(), 110, "20 bits of fingerprint and 16 of page");
        assert_eq!(read(&write(&entries)).unwrap(), entries);
    }

    #[test]
    fn damage_and_foreign_sectors_are_noticed() {
        let entries: Vec<Entry> =
            (0..300).map(|i| Entry { page: i, fingerprint: i as u32, bits: 20 }).collect();
        let bytes = write(&entries);
        for bit in (0..bytes.len() * 8).step_by(97) {
            let mut copy = bytes.clone();
            copy[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&copy), Err(bit / 8 / SECTOR_BYTES));
        }
        for key in
            [BucketKey { slot: 5, ..KEY }, BucketKey { version: 3, ..KEY }, BucketKey { salt: 8, ..KEY }]
        {
            assert_eq!(decode(key, 0, &bytes, |_| ()), Err(0));
        }
        let mut swapped = bytes.clone();
        swapped.rotate_left(SECTOR_BYTES);
        assert_eq!(read(&swapped), Err(0));
    }

    /// Few bits give many matches. Every position of a sector is covered, and no other entry may match.
    #[test]
    fn matches_are_those_entries_whose_fingerprints_are_equal() {
        for bits in 0..=28 {
            let known = |n: u64| fingerprint(KeyDigest::of(&(n % 7).to_le_bytes()), 3, bits);
            let entries: Vec<Entry> =
                (0..501).map(|n| Entry { page: n * n, fingerprint: known(n), bits }).collect();
            let bytes = write(&entries);
            for n in 0..9u64 {
                let digest = KeyDigest::of(&n.to_le_bytes());
                let wanted = fingerprint(digest, 3, bits);
                let equal = entries.iter().filter(|entry| entry.fingerprint == wanted);
                let mut pages = Vec::new();
                matches(KEY, 0, &bytes, digest, 3, &mut pages).unwrap();
                assert_eq!(pages, equal.map(|entry| entry.page).collect::<Vec<_>>(), "{bits} bits, {n}");
            }
        }
    }

    proptest! {
        #[test]
        fn entries_come_back_and_match(
            mut drawn in proptest::collection::vec((0u64..1 << 48, any::<u64>(), 0u8..=24), 1..400)
        ) {
            drawn.sort_unstable();
            let entries: Vec<Entry> = drawn
                .iter()
                .map(|&(page, hi, bits)| {
                    Entry { page, fingerprint: fingerprint(KeyDigest { lo: 0, hi }, 3, bits), bits }
                })
                .collect();
            let bytes = write(&entries);
            let back = read(&bytes).unwrap();
            prop_assert_eq!(back.len(), entries.len());
            for (entry, back) in entries.iter().zip(&back) {
                prop_assert_eq!(entry.truncated(back.bits), *back);
            }
            for &(page, hi, _) in &drawn {
                let mut pages = Vec::new();
                matches(KEY, 0, &bytes, KeyDigest { lo: 0, hi }, 3, &mut pages).unwrap();
                prop_assert!(pages.contains(&page));
            }
        }

        #[test]
        fn decoding_is_total(head in any::<[u8; 14]>()) {
            // With a valid checksum, so that the checks after it are reached.
            let mut sector = [0xa5; SECTOR_BYTES];
            sector[..14].copy_from_slice(&head);
            let check = KEY.check(0, &sector);
            sector[..4].copy_from_slice(&check.to_le_bytes());
            let _ = read(&sector);
            let _ = matches(KEY, 0, &sector, KeyDigest { lo: 1, hi: 2 }, 40, &mut Vec::new());
        }
    }
}
