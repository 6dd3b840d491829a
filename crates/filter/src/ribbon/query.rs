//! Looks a digest up in the resident columns.
//!
//! In memory, the words of columns are interleaved in lanes of [`LANES`] units. The words that a lookup needs of four units are adjacent:
//! 96 bytes instead of four times 24 in different places.

use super::rows::{RowHasher, fingerprint};

/// Units whose words are interleaved in memory, since a lookup reads them together.
pub(crate) const LANES: usize = 4;
use crate::KeyDigest;

/// The probe of a digest, for any number of units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RibbonProbe {
    window: Window,
    fingerprint: u32,
    unit_words: u32,
}

/// Coefficients, placed on the three words that a band of 128 slots can touch.
#[derive(Clone, Copy, Debug)]
struct Window {
    masks: [u64; 3],
    words: [u32; 3],
}

impl RibbonProbe {
    /// `unit_words` must not be 0.
    #[inline]
    pub(super) fn new(rows: RowHasher, unit_words: u32, digest: KeyDigest) -> Self {
        let (start, coefficients) = (rows.start(digest), rows.coefficients(digest));
        let shift = start % 64;
        let low = coefficients << shift;
        let first = (start / 64) as u32;
        // A word after the end has no coefficients, so any word may be read instead.
        let last = unit_words - 1;
        let window = Window {
            masks: [low as u64, (low >> 64) as u64, (coefficients >> 1 >> (127 - shift)) as u64],
            words: [first, (first + 1).min(last), (first + 2).min(last)],
        };
        Self { window, fingerprint: fingerprint(digest), unit_words }
    }

    /// A word of each cache line that the first lane of `resident` > 0 units is asked for: up to 96 bytes, which may begin anywhere.
    #[inline]
    pub(crate) fn first_words(&self, resident: u8) -> [usize; 3] {
        let units = LANES.min(usize::from(resident));
        let [first, middle, last] = self.window.words.map(|word| word as usize * units);
        [first, middle, last + units - 1]
    }

    /// The first resident unit that rejects the digest's fingerprint. Tests four units without a branch, then exits or goes on. One absent
    /// key in 16 reaches the fifth unit.
    #[inline]
    pub(crate) fn rejecting_unit(&self, words: &[u64], resident: u8) -> Option<u8> {
        let Self { window, fingerprint, unit_words } = self;
        let lane_words = LANES * *unit_words as usize;
        let full_lanes = usize::from(resident) / LANES;
        for lane in 0..full_lanes {
            let words = &words[lane * lane_words..][..lane_words];
            let disagreeing = disagreeing_units::<LANES>(words, window, fingerprint >> (lane * LANES));
            if disagreeing != 0 {
                return Some((lane * LANES) as u8 + disagreeing.trailing_zeros() as u8);
            }
        }
        let rest = &words[full_lanes * lane_words..];
        let fingerprint = fingerprint.checked_shr((full_lanes * LANES) as u32).unwrap_or(0);
        let disagreeing = match usize::from(resident) % LANES {
            0 => 0,
            1 => disagreeing_units::<1>(rest, window, fingerprint),
            2 => disagreeing_units::<2>(rest, window, fingerprint),
            _ => disagreeing_units::<3>(rest, window, fingerprint),
        };
        (disagreeing != 0).then(|| (full_lanes * LANES) as u8 + disagreeing.trailing_zeros() as u8)
    }
}

/// The units among `UNITS` interleaved ones that reject the low bits of `fingerprint`, as bits.
#[inline]
fn disagreeing_units<const UNITS: usize>(words: &[u64], window: &Window, fingerprint: u32) -> u32 {
    let (interleaved, _) = words.as_chunks::<UNITS>();
    let [a, b, c] = window.words.map(|word| &interleaved[word as usize]);
    let [mask_a, mask_b, mask_c] = window.masks;
    let mut bits = 0;
    // Shifted in one by one, or the compiler makes vectors of them, which are slower than four times `popcnt`.
    for unit in (0..UNITS).rev() {
        let product = a[unit] & mask_a ^ b[unit] & mask_b ^ c[unit] & mask_c;
        bits = bits << 1 | product.count_ones() & 1;
    }
    bits ^ fingerprint & ((1 << UNITS) - 1)
}
