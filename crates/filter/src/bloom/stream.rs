//! The bit positions that a digest probes in each unit.

use crate::{KeyDigest, MAX_UNITS};

/// Multiplier from one probe to the next: a 64-bit MCG constant with good spectral quality up to 8 dimensions (Steele and
/// Vigna, "Computationally easy, spectrally good multipliers for congruential pseudorandom number generators", 2021).
const STEP: u64 = 0xf135_7aea_2e62_a9c5;

/// `STEP^i` modulo 2^64, so that the probes of a unit do not wait for each other.
const STEPS: [u64; 8] = {
    let mut steps = [1u64; 8];
    let mut i = 1;
    while i < steps.len() {
        steps[i] = steps[i - 1].wrapping_mul(STEP);
        i += 1;
    }
    steps
};

/// Per unit, what is XORed into the two halves of the digest: SplitMix64 (Steele, Lea and Flood 2014) from seed 0.
const UNIT_KEYS: [(u64, u64); MAX_UNITS as usize] = {
    let mut keys = [(0, 0); MAX_UNITS as usize];
    let mut unit = 0;
    while unit < keys.len() {
        keys[unit] = (splitmix64(2 * unit as u64), splitmix64(2 * unit as u64 + 1));
        unit += 1;
    }
    keys
};

/// Output `index` of SplitMix64 seeded with 0.
const fn splitmix64(index: u64) -> u64 {
    let mut z = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The probes of one digest in one unit.
#[derive(Clone, Copy)]
pub(super) struct UnitStream(u64);

impl UnitStream {
    /// `unit` below [`MAX_UNITS`].
    #[inline]
    pub(super) fn new(digest: KeyDigest, unit: usize) -> Self {
        let (lo, hi) = UNIT_KEYS[unit];
        let product = u128::from(digest.lo ^ lo) * u128::from(digest.hi ^ hi);
        Self(product as u64 ^ (product >> 64) as u64)
    }

    /// Bit of probe `probe` (below 8) in a unit of `bits` bits: less than `bits`, which is not 0.
    #[inline]
    pub(super) fn bit(self, probe: usize, bits: u64) -> u64 {
        let hash = self.0.wrapping_mul(STEPS[probe]);
        // Lemire's fastrange: the high half of the product scales the hash to 0..bits without a division.
        ((u128::from(hash) * u128::from(bits)) >> 64) as u64
    }
}
