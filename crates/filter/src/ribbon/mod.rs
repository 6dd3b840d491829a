//! Ribbon filter units: one bit per key each, so that `n` resident units err at `2^-n` (Dillinger and Walzer, "Ribbon filter: practically
//! smaller than Bloom and Xor", arXiv:2103.02515, the standard ribbon).
//!
//! A segment's keys are equations over GF(2). A key's row is a band of up to 128 random coefficients from a random start. The
//! row times the stored column is a bit of the key's fingerprint. All units share the rows and differ in the fingerprint bit, so the system
//! is eliminated once and back-substituted for all columns together. Each column is one unit.
//!
//! Invariants:
//! - Fingerprint bits do not depend on the retry seed, because choosing a seed by success must not choose among fingerprints.
//! - Free variables are 0, which makes the solution unique: bytes depend on the set of keys, not on their order.
//! - A system without a solution for any seed is reported, and the caller uses another kind.
//!
//! Starts are *smashed*: drawn from a range that extends beyond both ends and then clamped, so that the outermost slots have the same load
//! as the others. This makes small segments dense: 0.8% of spare slots at 4 Ki keys.
//!
//! Sizes, rows and solution are part of the on-disk format (`docs/format.md`).

mod eliminate;
mod equation;
mod pivots;
mod query;
mod rows;
mod solve;

pub(crate) use eliminate::RibbonBuilder;
pub(crate) use query::{LANES, RibbonProbe};
use rows::{BAND, SEEDS};

use multiversion::multiversion;

use crate::nibbles::Nibbles;
use crate::{FilterError, KEYS_MAX, KeyDigest};

/// Maximum number of keys of a system of a single word. Its rows are dense, so it is solvable with few spare slots.
const MAX_KEYS_IN_A_WORD: u32 = 60;

/// Number of sizes. A try succeeds with a probability of about 0.9 at the first size, and more at each further size.
const GROWTHS: u8 = 16;

/// Parameters of ribbon units: the try that succeeded, with growth in the low half and seed in the high half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RibbonShape(pub(crate) Nibbles);

const _: () = assert!(SEEDS <= 16 && GROWTHS <= 16);

impl RibbonShape {
    /// `growth` below [`GROWTHS`], `seed` below [`SEEDS`].
    fn new(growth: u8, seed: u8) -> Self {
        Self(Nibbles::new(growth, seed))
    }

    /// Growth of the system beyond the usual size, in sixteenths, below [`GROWTHS`].
    pub(crate) fn growth(self) -> u8 {
        self.0.low()
    }

    /// Seed of the rows, below [`SEEDS`].
    pub(crate) fn seed(self) -> u8 {
        self.0.high()
    }

    pub(crate) fn from_parameters(growth: u8, seed: u8) -> Result<Self, FilterError> {
        if growth >= GROWTHS {
            return Err(FilterError::ShapeParameter { name: "growth", got: growth.into() });
        }
        if seed >= SEEDS {
            return Err(FilterError::ShapeParameter { name: "seed", got: seed.into() });
        }
        Ok(Self::new(growth, seed))
    }

    /// Uses integers only, because the size is part of the format and must be the same everywhere.
    pub(crate) fn unit_words(self, key_count: u32) -> u32 {
        let usual = match key_count {
            0 => return 0,
            1..=MAX_KEYS_IN_A_WORD => 1,
            _ => (u64::from(key_count) + spare_slots(key_count)).div_ceil(64).max(BAND / 64),
        };
        (usual + (usual * u64::from(self.growth())).div_ceil(16)) as u32
    }

    /// `unit_words` must not be 0.
    #[inline]
    pub(crate) fn probe(self, unit_words: u32, digest: KeyDigest) -> RibbonProbe {
        RibbonProbe::new(rows::RowHasher::new(self.seed(), unit_words), unit_words, digest)
    }
}

impl RibbonBuilder {
    /// Solves the system for `unit_count` columns. `None` if the first `tries` tries fail.
    ///
    /// Memory in addition to the result: 20 bytes per slot and 36 per key.
    pub(crate) fn build(
        &mut self,
        digests: &[KeyDigest],
        unit_count: u8,
        tries: usize,
    ) -> Option<(RibbonShape, Vec<Vec<u8>>)> {
        let key_count = u32::try_from(digests.len()).ok().filter(|&keys| keys <= KEYS_MAX)?;
        let shapes =
            (0..GROWTHS).flat_map(|growth| (0..SEEDS).map(move |seed| RibbonShape::new(growth, seed)));
        shapes.take(tries).find_map(|shape| {
            let unit_words = shape.unit_words(key_count);
            if unit_words == 0 {
                return Some((shape, vec![Vec::new(); unit_count.into()])); // no keys
            }
            let rows = rows::RowHasher::new(shape.seed(), unit_words);
            solved(self, digests, rows, unit_words, unit_count).map(|units| (shape, units))
        })
    }
}

/// The columns of a system; `None` without a solution.
///
/// Compiled for AVX2 too and chosen at run time, because vectors of 32 bytes halve the time. What it calls is inlined, or it would be
/// compiled for the oldest processor.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+lzcnt+popcnt"))]
fn solved(
    builder: &mut RibbonBuilder,
    digests: &[KeyDigest],
    rows: rows::RowHasher,
    unit_words: u32,
    unit_count: u8,
) -> Option<Vec<Vec<u8>>> {
    builder.eliminate(digests, rows, unit_words).then(|| solve::solve(&builder.echelon, unit_count))
}

/// Tries of a build: all seeds of all sizes.
pub(crate) const ALL_TRIES: usize = SEEDS as usize * GROWTHS as usize;

/// Slots beyond one per key with which about nine in ten tries succeed: `4 + 0.006 * keys * (log2(keys) - 10.7)`. Measured from 100 keys to
/// 64 Ki. The logarithm is interpolated linearly between powers of two.
fn spare_slots(key_count: u32) -> u64 {
    let keys = u64::from(key_count);
    let power = u64::from(key_count.ilog2());
    let log2_1024ths = power * 1024 + ((keys << 10) >> power) - 1024;
    4 + keys * log2_1024ths.saturating_sub(10_957) * 6 / 1_024_000
}

#[cfg(test)]
mod tests;
