//! One page of filter bits, and detection of damage.
//!
//! A page is a row of 512-byte sectors, the unit that devices write atomically. Each sector holds 508 bytes of bits and a checksum, keyed
//! with the filter's salt and the numbers of page and sector. So a sector of another page or another filter fails the check.
//!
//! Checksums are per sector because bits only change from 0 to 1. After an interrupted write, a page is a mixture of old and new sectors,
//! and holds every bit that it held before. So pages need no second copy and no log of their contents. Only a sector that is neither old
//! nor new is lost, and it answers "may match".

use springbloom_page_device::{SECTOR_BYTES, checksum_32};

/// Bytes of filter bits in a sector. A checksum follows them.
pub(crate) const SECTOR_DATA_BYTES: usize = SECTOR_BYTES - 4;
/// Filter bits in a sector.
pub(crate) const SECTOR_BITS: u32 = SECTOR_DATA_BYTES as u32 * 8;

/// Checks, seals and changes the sectors of one filter's pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageCodec {
    salt: u64,
    sectors: u32,
}

/// Position of a bit in a page.
#[derive(Clone, Copy)]
struct Place {
    sector: u32,
    byte: usize,
    mask: u8,
}

impl Place {
    #[inline]
    fn of(bit: u32) -> Place {
        let (sector, within) = (bit / SECTOR_BITS, bit % SECTOR_BITS);
        Place {
            sector,
            byte: sector as usize * SECTOR_BYTES + (within / 8) as usize,
            mask: 1 << (within % 8),
        }
    }
}

impl PageCodec {
    pub(crate) fn new(salt: u64, page_bytes: u32) -> PageCodec {
        PageCodec { salt, sectors: page_bytes / SECTOR_BYTES as u32 }
    }

    fn checksum(&self, page: u64, sector: u32, data: &[u8]) -> u32 {
        let place = page.wrapping_mul(u64::from(self.sectors)).wrapping_add(u64::from(sector));
        checksum_32(self.salt, place, data)
    }

    fn is_intact(&self, page: u64, sector: u32, bytes: &[u8]) -> bool {
        let from = sector as usize * SECTOR_BYTES;
        let (data, sum) = bytes[from..from + SECTOR_BYTES].split_at(SECTOR_DATA_BYTES);
        sum == self.checksum(page, sector, data).to_le_bytes()
    }

    fn seal_sector(&self, page: u64, sector: u32, bytes: &mut [u8]) {
        let from = sector as usize * SECTOR_BYTES;
        let (data, sum) = bytes[from..from + SECTOR_BYTES].split_at_mut(SECTOR_DATA_BYTES);
        sum.copy_from_slice(&self.checksum(page, sector, data).to_le_bytes());
    }

    /// Formats `bytes` as page `page` without any bit set.
    pub(crate) fn format_empty(&self, page: u64, bytes: &mut [u8]) {
        bytes.fill(0);
        (0..self.sectors).for_each(|sector| self.seal_sector(page, sector, bytes));
    }

    /// Whether all of `bits` may be set. Damaged sectors count as all ones. Only probed sectors are checked, once for all queries with the
    /// same `checks` and bytes.
    pub(crate) fn query(
        &self,
        page: u64,
        bytes: &[u8],
        bits: impl Iterator<Item = u32>,
        checks: &mut SectorChecks,
    ) -> PageAnswer {
        let mut damaged = false;
        for bit in bits {
            let place = Place::of(bit);
            let this = 1 << place.sector;
            if checks.done & this == 0 {
                checks.done |= this;
                if !self.is_intact(page, place.sector, bytes) {
                    checks.damaged |= this;
                }
            }
            if checks.damaged & this != 0 {
                damaged = true;
            } else if bytes[place.byte] & place.mask == 0 {
                return PageAnswer { may_match: false, damaged };
            }
        }
        PageAnswer { may_match: true, damaged }
    }

    /// Sets `bits` and updates the checksums of their sectors. A damaged sector among them becomes all ones; other damaged sectors are left
    /// as found. Returns the number of damaged sectors met.
    pub(crate) fn set(&self, page: u64, bytes: &mut [u8], bits: impl Iterator<Item = u32>) -> u32 {
        let (mut touched, mut damaged) = (0u64, 0);
        for bit in bits {
            let place = Place::of(bit);
            let this = 1 << place.sector;
            if touched & this == 0 {
                touched |= this;
                if !self.is_intact(page, place.sector, bytes) {
                    damaged += 1;
                    saturate(place.sector, bytes);
                }
            }
            bytes[place.byte] |= place.mask;
        }
        self.seal(page, bytes, touched);
        damaged
    }

    /// Sets every bit of `other`. Damaged sectors of either page become all ones.
    pub(crate) fn unite(&self, page: u64, bytes: &mut [u8], other: &PageCodec, other_bytes: &[u8]) -> u32 {
        let mut damaged = 0;
        for sector in 0..self.sectors {
            let from = sector as usize * SECTOR_BYTES;
            if self.is_intact(page, sector, bytes) && other.is_intact(page, sector, other_bytes) {
                let ours = &mut bytes[from..from + SECTOR_DATA_BYTES];
                ours.iter_mut().zip(&other_bytes[from..]).for_each(|(a, b)| *a |= b);
            } else {
                damaged += 1;
                saturate(sector, bytes);
            }
        }
        self.seal(page, bytes, u64::MAX);
        damaged
    }

    /// Sets every damaged sector to all ones. Returns how many there were.
    pub(crate) fn mend(&self, page: u64, bytes: &mut [u8]) -> u32 {
        let mut mended = 0;
        for sector in 0..self.sectors {
            if !self.is_intact(page, sector, bytes) {
                mended += 1;
                saturate(sector, bytes);
                self.seal_sector(page, sector, bytes);
            }
        }
        mended
    }

    fn seal(&self, page: u64, bytes: &mut [u8], sectors: u64) {
        (0..self.sectors).filter(|s| sectors & (1 << s) != 0).for_each(|s| self.seal_sector(page, s, bytes));
    }

    /// Checks every sector and counts the bits set.
    pub(crate) fn census(&self, page: u64, bytes: &[u8]) -> PageCensus {
        let mut census = PageCensus::default();
        for sector in 0..self.sectors {
            let from = sector as usize * SECTOR_BYTES;
            let data = &bytes[from..from + SECTOR_DATA_BYTES];
            let ones = count_ones(data);
            if !self.is_intact(page, sector, bytes) {
                census.damaged_sectors += 1;
                census.ones += SECTOR_BITS;
            } else {
                census.saturated_sectors += u32::from(ones == SECTOR_BITS);
                census.ones += ones;
            }
        }
        census
    }

    /// Number of bits set, without checks. Cheaper than [`PageCodec::census`].
    pub(crate) fn ones(&self, bytes: &[u8]) -> u32 {
        bytes.chunks(SECTOR_BYTES).map(|sector| count_ones(&sector[..SECTOR_DATA_BYTES])).sum()
    }
}

fn saturate(sector: u32, bytes: &mut [u8]) {
    let from = sector as usize * SECTOR_BYTES;
    bytes[from..from + SECTOR_DATA_BYTES].fill(0xff);
}

fn count_ones(data: &[u8]) -> u32 {
    let (words, rest) = data.as_chunks::<8>();
    let in_words: u32 = words.iter().map(|w| u64::from_le_bytes(*w).count_ones()).sum();
    in_words + rest.iter().map(|b| b.count_ones()).sum::<u32>()
}

/// Sectors of a page that queries have checked, a bit each.
#[derive(Default)]
pub(crate) struct SectorChecks {
    done: u64,
    damaged: u64,
}

/// Answer of a page to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageAnswer {
    pub(crate) may_match: bool,
    /// A probed sector failed its checksum.
    pub(crate) damaged: bool,
}

/// Result of [`PageCodec::census`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PageCensus {
    /// Bits set. A damaged sector counts as all ones.
    pub(crate) ones: u32,
    pub(crate) damaged_sectors: u32,
    /// Sectors that were lost earlier and are all ones now.
    pub(crate) saturated_sectors: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 77;

    fn empty() -> (PageCodec, Vec<u8>) {
        let codec = PageCodec::new(5, 4096);
        let mut bytes = vec![1; 4096];
        codec.format_empty(PAGE, &mut bytes);
        (codec, bytes)
    }

    fn ask(codec: &PageCodec, bytes: &[u8], bits: &[u32]) -> PageAnswer {
        codec.query(PAGE, bytes, bits.iter().copied(), &mut SectorChecks::default())
    }

    #[test]
    fn queries_of_a_page_share_the_checks_of_its_sectors_and_tell_of_damage_each() {
        let (codec, mut bytes) = empty();
        codec.set(PAGE, &mut bytes, [1, 2].into_iter());
        bytes[0] ^= 0x80;
        let mut checks = SectorChecks::default();
        let mut query = |bits: &[u32]| {
            let PageAnswer { may_match, damaged } =
                codec.query(PAGE, &bytes, bits.iter().copied(), &mut checks);
            (may_match, damaged)
        };
        assert_eq!(query(&[1, 2]), (true, true));
        assert_eq!(query(&[3, 4]), (true, true), "a damaged sector counts as all ones for each query");
        assert_eq!(
            query(&[SECTOR_BITS + 1]),
            (false, false),
            "damage that a query does not meet is not its own"
        );
        assert_eq!((checks.done, checks.damaged), (3, 1));
    }

    #[test]
    fn bits_are_found_and_others_are_not() {
        let (codec, mut bytes) = empty();
        let last = 8 * SECTOR_BITS - 1;
        assert_eq!(codec.set(PAGE, &mut bytes, [0, 9, SECTOR_BITS, last].into_iter()), 0);
        assert_eq!(
            ask(&codec, &bytes, &[0, 9, SECTOR_BITS, last]),
            PageAnswer { may_match: true, damaged: false }
        );
        for absent in [1, SECTOR_BITS - 1, SECTOR_BITS + 1, last - 1] {
            assert!(!ask(&codec, &bytes, &[0, absent]).may_match, "bit {absent}");
        }
        assert_eq!(codec.ones(&bytes), 4);
        assert_eq!(codec.census(PAGE, &bytes), PageCensus { ones: 4, ..PageCensus::default() });
    }

    #[test]
    fn any_flipped_bit_damages_its_sector_and_no_other() {
        let (codec, mut bytes) = empty();
        codec.set(PAGE, &mut bytes, [3 * SECTOR_BITS + 5].into_iter());
        for flipped in (0..4096 * 8).step_by(331) {
            let mut copy = bytes.clone();
            copy[flipped / 8] ^= 1 << (flipped % 8);
            let sector = (flipped / 8 / SECTOR_BYTES) as u32;
            assert_eq!(codec.census(PAGE, &copy).damaged_sectors, 1);
            let in_it = sector * SECTOR_BITS + 100;
            assert_eq!(ask(&codec, &copy, &[in_it]), PageAnswer { may_match: true, damaged: true });
            let elsewhere = ((sector + 1) % 8) * SECTOR_BITS + 100;
            assert_eq!(ask(&codec, &copy, &[elsewhere]), PageAnswer { may_match: false, damaged: false });
        }
    }

    #[test]
    fn pages_of_other_places_and_filters_are_damage() {
        let (codec, bytes) = empty();
        assert_eq!(codec.census(PAGE + 1, &bytes).damaged_sectors, 8);
        assert_eq!(PageCodec::new(6, 4096).census(PAGE, &bytes).damaged_sectors, 8);
        let mut swapped = bytes.clone();
        swapped.rotate_left(SECTOR_BYTES);
        assert_eq!(codec.census(PAGE, &swapped).damaged_sectors, 8);
    }

    #[test]
    fn setting_bits_in_a_damaged_sector_keeps_it_answering_may_match() {
        let (codec, mut bytes) = empty();
        bytes[SECTOR_BYTES + 3] ^= 1;
        bytes[2 * SECTOR_BYTES + 3] ^= 1;
        assert_eq!(codec.set(PAGE, &mut bytes, [SECTOR_BITS].into_iter()), 1);
        assert!(ask(&codec, &bytes, &[SECTOR_BITS + 77]).may_match, "lost bits may have been set");
        let census = codec.census(PAGE, &bytes);
        assert_eq!(
            (census.damaged_sectors, census.saturated_sectors),
            (1, 1),
            "the untouched one is still reported"
        );
    }

    #[test]
    fn a_mixture_of_old_and_new_sectors_is_intact_and_keeps_the_old_bits() {
        let (codec, mut old) = empty();
        let old_bits: Vec<u32> = (0..8).map(|s| s * SECTOR_BITS + 10).collect();
        codec.set(PAGE, &mut old, old_bits.iter().copied());
        let mut new = old.clone();
        codec.set(PAGE, &mut new, (0..8).map(|s| s * SECTOR_BITS + 20));
        for mixture in 0..256usize {
            let mut bytes = old.clone();
            for s in (0..8).filter(|s| mixture & (1 << s) != 0) {
                bytes[s * SECTOR_BYTES..][..SECTOR_BYTES]
                    .copy_from_slice(&new[s * SECTOR_BYTES..][..SECTOR_BYTES]);
            }
            assert_eq!(codec.census(PAGE, &bytes).damaged_sectors, 0);
            assert_eq!(ask(&codec, &bytes, &old_bits), PageAnswer { may_match: true, damaged: false });
        }
    }

    #[test]
    fn a_union_holds_both() {
        let (codec, mut ours) = empty();
        let other = PageCodec::new(99, 4096);
        let mut theirs = vec![0; 4096];
        other.format_empty(PAGE, &mut theirs);
        codec.set(PAGE, &mut ours, [1, 5000].into_iter());
        other.set(PAGE, &mut theirs, [2, 30_000].into_iter());
        theirs[7 * SECTOR_BYTES] ^= 1;
        assert_eq!(codec.unite(PAGE, &mut ours, &other, &theirs), 1);
        assert!(ask(&codec, &ours, &[1, 2, 5000, 30_000]).may_match);
        assert!(!ask(&codec, &ours, &[3]).may_match);
    }
}
