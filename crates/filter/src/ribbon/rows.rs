//! The row of a digest in the linear system: a start, a band of coefficients, and a fingerprint.
//!
//! All three are products that are not linear in the digest, each with its own key. Only start and coefficients depend on the retry seed.

use crate::KeyDigest;
use crate::stream::{fold, splitmix64};

/// Coefficients of a row, and slots of the smallest system that is wider than one word.
pub(super) const BAND: u64 = 128;

/// Retry seeds per size.
pub(super) const SEEDS: u8 = 16;

/// Index of this module's first key in the sequence of SplitMix64, after those of the Bloom units.
const FIRST_KEY: u64 = 64;

/// Slots by which the range of starts extends beyond each end before it is clamped.
const SMASH: u64 = 48;

/// Odd multiplier that turns the start's hash into the upper half of the coefficients.
const SPREAD: u64 = 0xd134_2543_de82_ef95;

const FINGERPRINT_KEY: (u64, u64) = (splitmix64(FIRST_KEY), splitmix64(FIRST_KEY + 1));

/// Per seed, the keys of the start and of the coefficients.
const ROW_KEYS: [[(u64, u64); 2]; SEEDS as usize] = {
    let mut keys = [[(0, 0); 2]; SEEDS as usize];
    let mut seed = 0;
    while seed < keys.len() {
        let at = FIRST_KEY + 2 + 4 * seed as u64;
        keys[seed] = [(splitmix64(at), splitmix64(at + 1)), (splitmix64(at + 2), splitmix64(at + 3))];
        seed += 1;
    }
    keys
};

/// Makes the rows of one system: the left-hand sides of the keys' equations.
#[derive(Clone, Copy)]
pub(super) struct RowHasher {
    keys: [(u64, u64); 2],
    /// Number of possible starts: 1 for a system of a single word.
    starts: u64,
    /// Mask of the possible coefficients: 64 in a system of a single word.
    band_mask: u128,
}

impl RowHasher {
    /// `seed` must be below [`SEEDS`], and `unit_words` not 0.
    #[inline]
    pub(super) fn new(seed: u8, unit_words: u32) -> Self {
        let keys = ROW_KEYS[usize::from(seed)];
        match u64::from(unit_words) * 64 {
            64 => Self { keys, starts: 1, band_mask: u64::MAX.into() },
            slots => Self { keys, starts: slots - BAND + 1, band_mask: u128::MAX },
        }
    }

    /// Start of the digest's row.
    #[inline(always)]
    pub(super) fn start(self, digest: KeyDigest) -> u64 {
        let hash = fold(digest, self.keys[0]);
        let smashed = ((u128::from(hash) * u128::from(self.starts + 2 * SMASH)) >> 64) as u64;
        smashed.saturating_sub(SMASH).min(self.starts - 1)
    }

    /// Coefficients of the digest's row: number `i` belongs to slot `start + i`. Number 0 is 1.
    #[inline(always)]
    pub(super) fn coefficients(self, digest: KeyDigest) -> u128 {
        let [start_key, coefficient_key] = self.keys;
        let low = fold(digest, coefficient_key) | 1;
        let high = fold(digest, start_key).wrapping_mul(SPREAD);
        (u128::from(high) << 64 | u128::from(low)) & self.band_mask
    }
}

/// The fingerprint: bit `u` is the right-hand side of the equation in unit `u`.
#[inline(always)]
pub(super) fn fingerprint(digest: KeyDigest) -> u32 {
    (fold(digest, FINGERPRINT_KEY) >> 32) as u32
}
