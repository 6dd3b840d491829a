//! The bits of a key. Part of the file format, so it never changes for a given version.
//!
//! BloomFlash sections III-C and III-D. *Hierarchical*: a first hash selects the page (the `ComponentFilter`), and all `probes` bits lie
//! within it, so a lookup reads one page. *Two choices*: a key is in one of two pages, and a lookup reads both.

use springbloom_filter::KeyDigest;

use crate::page::SECTOR_BITS;
use springbloom_page_device::{GOLDEN, mix, scale};

/// Smallest page size, in bytes.
pub const PAGE_BYTES_MIN: u32 = 2048;
/// Largest page size, in bytes.
pub const PAGE_BYTES_MAX: u32 = 16_384;

/// Distribution of bits over pages, by the code in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// All bits of a key in one page, which a hash selects.
    Hierarchical = 0,
    /// All bits of a key in one of two pages: the page with fewer keys at insertion.
    TwoChoices = 1,
}

/// An update: a page, and the half of the key's digest that gives the bits in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Update {
    pub(crate) page: u32,
    pub(crate) value: u64,
}

/// Shape of one filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Distribution of bits over pages.
    pub layout: Layout,
    /// Bytes of a page: a power of two, 2,048 to 16,384.
    pub page_bytes: u32,
    /// Number of pages. Each is a filter of its own.
    pub page_count: u32,
    /// Bits set per key, 1 to [`PROBES_MAX`].
    pub probes: u8,
}

/// Upper bound of bits set per key. More would not help as much as a larger filter.
pub const PROBES_MAX: u8 = 32;

impl Geometry {
    /// Filter bits in a page, without its checksums.
    pub const fn bits_per_page(&self) -> u32 {
        self.page_bytes / springbloom_page_device::SECTOR_BYTES as u32 * SECTOR_BITS
    }

    /// Filter bits in all pages.
    pub const fn bits(&self) -> u64 {
        self.bits_per_page() as u64 * self.page_count as u64
    }

    /// Bytes of all pages, checksums included.
    pub const fn pages_bytes(&self) -> u64 {
        self.page_bytes as u64 * self.page_count as u64
    }

    /// Pages that a lookup reads at most.
    pub const fn reads_per_lookup_max(&self) -> u32 {
        match self.layout {
            Layout::Hierarchical => 1,
            Layout::TwoChoices => 2,
        }
    }

    /// The update of the n-th page that may hold `digest`.
    #[inline]
    pub(crate) fn place(&self, digest: KeyDigest, n: u32) -> Update {
        let word = if n == 0 { digest.lo } else { mix(digest.lo ^ GOLDEN) };
        Update { page: scale(word, u64::from(self.page_count)) as u32, value: digest.hi }
    }

    /// The bits of the page that an update sets.
    #[inline]
    pub(crate) fn bits_of(&self, value: u64) -> impl Iterator<Item = u32> {
        let bits_per_page = u64::from(self.bits_per_page());
        let mut word = 0;
        (0..u32::from(self.probes)).map(move |n| {
            // One word gives two positions of 32 bits each.
            if n % 2 == 0 {
                word = mix(value.wrapping_add(GOLDEN.wrapping_mul(u64::from(n) + 1)));
            } else {
                word >>= 32;
            }
            (((word & 0xffff_ffff) * bits_per_page) >> 32) as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(layout: Layout) -> Geometry {
        Geometry { layout, page_bytes: 4096, page_count: 1000, probes: 6 }
    }

    #[test]
    fn golden_positions() {
        let digest = KeyDigest::of(b"springbloom");
        let hierarchical = geometry(Layout::TwoChoices);
        let pages = [0, 1].map(|n| hierarchical.place(digest, n).page);
        let bits: Vec<u32> = hierarchical.bits_of(hierarchical.place(digest, 0).value).collect();
        assert_eq!(pages, GOLDEN_PAGES);
        assert_eq!(bits, GOLDEN_BITS);
    }

    // Recorded from version 1. Filters on disk depend on them.
    const GOLDEN_PAGES: [u32; 2] = [445, 690];
    const GOLDEN_BITS: [u32; 6] = [12215, 31665, 26773, 675, 21386, 31652];

    #[test]
    fn positions_are_spread_evenly_over_pages_and_bits() {
        let mut rng = springbloom_testkit::seed::rng("positions_are_spread_evenly_over_pages_and_bits");
        for layout in [Layout::Hierarchical, Layout::TwoChoices] {
            let geometry = Geometry { page_count: 50, ..geometry(layout) };
            let (mut pages, mut bits) = ([0u64; 50], [0u64; 127]);
            for _ in 0..20_000 {
                let digest =
                    KeyDigest { lo: rand::RngExt::random(&mut rng), hi: rand::RngExt::random(&mut rng) };
                for n in 0..geometry.reads_per_lookup_max() {
                    let update = geometry.place(digest, n);
                    pages[update.page as usize] += 1;
                    // A key has the same bits in either of its two pages. Counted once, they are independent.
                    if layout == Layout::TwoChoices && n > 0 {
                        continue;
                    }
                    for bit in geometry.bits_of(update.value) {
                        assert!(bit < geometry.bits_per_page());
                        bits[(bit / 256) as usize] += 1;
                    }
                }
            }
            springbloom_testkit::chi_square::assert_fits(&pages, &[1.0 / 50.0; 50], "pages");
            springbloom_testkit::chi_square::assert_fits(&bits, &[1.0 / 127.0; 127], "bits");
        }
    }
}
