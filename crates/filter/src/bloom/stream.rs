//! The bit positions that a digest probes in each unit.

use crate::stream::{fold, splitmix64};
use crate::{KeyDigest, MAX_UNITS};

/// Multiplier from one probe to the next: a 64-bit MCG constant with good spectral quality up to 8 dimensions (Steele and
/// Vigna, "Computationally easy, spectrally good multipliers for congruential pseudorandom number generators", 2021).
const STEP: u64 = 0xf135_7aea_2e62_a9c5;

/// `STEP^i` modulo 2^64, so that the probes of a unit are computed independently.
const STEPS: [u64; 8] = {
    let mut steps = [1u64; 8];
    let mut i = 1;
    while i < steps.len() {
        steps[i] = steps[i - 1].wrapping_mul(STEP);
        i += 1;
    }
    steps
};

/// Key of each unit's stream.
const UNIT_KEYS: [(u64, u64); MAX_UNITS as usize] = {
    let mut keys = [(0, 0); MAX_UNITS as usize];
    let mut unit = 0;
    while unit < keys.len() {
        keys[unit] = (splitmix64(2 * unit as u64), splitmix64(2 * unit as u64 + 1));
        unit += 1;
    }
    keys
};

/// The probes of one digest in one unit.
#[derive(Clone, Copy)]
pub(super) struct UnitStream(u64);

impl UnitStream {
    /// `unit` must be below [`MAX_UNITS`].
    #[inline]
    pub(super) fn new(digest: KeyDigest, unit: usize) -> Self {
        Self(fold(digest, UNIT_KEYS[unit]))
    }

    /// Bit of probe `probe` (below 8) in a unit of `bits` > 0 bits.
    #[inline]
    pub(super) fn bit(self, probe: usize, bits: u64) -> u64 {
        let hash = self.0.wrapping_mul(STEPS[probe]);
        // Lemire's fastrange: the high half of the product scales the hash to 0..bits without a division.
        ((u128::from(hash) * u128::from(bits)) >> 64) as u64
    }
}
