//! Bits per key by level as Monkey allots them (Dayan, Athanassoulis, Idreos, SIGMOD'17): the sum of all runs' false
//! positive rates is least, for a given memory, when each run's rate is proportional to its number of keys.

use std::f64::consts::LN_2;

/// A filter of RocksDB that is kept whole in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StockFilter {
    /// `NewBloomFilterPolicy`.
    Bloom,
    /// `NewRibbonFilterPolicy`.
    Ribbon,
}

/// Bits of a Ribbon filter for each halving of its false positive rate. By RocksDB's formulas for 3 to 7 bits per key.
const RIBBON_BITS_PER_HALVING: f64 = 1.05;

impl StockFilter {
    /// The false positive rate is `exp(-bits * exponent)`.
    pub fn rate_exponent(self) -> f64 {
        match self {
            Self::Bloom => LN_2 * LN_2,
            Self::Ribbon => LN_2 / RIBBON_BITS_PER_HALVING,
        }
    }
}

/// Halvings of the search interval; 2^-100 of it is below any rounding.
const SEARCH_STEPS: u32 = 100;

/// A level of a tree.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Table files.
    pub files: u64,
    /// Keys in all of them.
    pub keys: u64,
}

/// Bits per key for each of `levels` such that all keys together get `average_bits`. Every L0 file is a run of its own; a level whose
/// filter would not pay gets 0.
pub fn bits_per_level(levels: &[Level], average_bits: f64, filter: StockFilter) -> Vec<f64> {
    let rate_exponent = filter.rate_exponent();
    let level_keys: Vec<f64> = levels.iter().map(|level| level.keys as f64).collect();
    let mut run_keys = level_keys.clone();
    if let Some((keys, level)) = run_keys.first_mut().zip(levels.first().filter(|level| level.files > 0)) {
        *keys /= level.files as f64;
    }
    let total_bits = average_bits * level_keys.iter().sum::<f64>();
    let allot = |ln_rate_per_key: f64| -> Vec<f64> {
        run_keys
            .iter()
            .map(|&keys| {
                if keys > 0.0 {
                    (-(ln_rate_per_key + keys.ln()) / rate_exponent).max(0.0)
                } else {
                    average_bits
                }
            })
            .collect()
    };
    let spent = |bits: &[f64]| bits.iter().zip(&level_keys).map(|(bits, keys)| bits * keys).sum::<f64>();
    let (mut low, mut high) = (-1_000.0, 10.0);
    for _ in 0..SEARCH_STEPS {
        let middle = (low + high) / 2.0;
        if spent(&allot(middle)) > total_bits { low = middle } else { high = middle }
    }
    allot(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(levels: &[(u64, u64)]) -> Vec<Level> {
        levels.iter().map(|&(files, keys)| Level { files, keys }).collect()
    }

    #[test]
    fn the_memory_is_spent_and_rates_follow_sizes() {
        let levels = tree(&[(0, 0), (1, 15_000), (10, 150_000), (109, 1_600_000), (220, 3_235_000)]);
        // Ten times the keys: ten times the rate. For Bloom filters these are ln(10) / (ln 2)^2 = 4.79 bits less, for Ribbon
        // filters log2(10) = 3.32 and their overhead.
        for (filter, least, most) in [(StockFilter::Bloom, 4.78, 4.80), (StockFilter::Ribbon, 3.32, 3.65)] {
            let bits = bits_per_level(&levels, 4.0, filter);
            let spent: f64 = bits.iter().zip(&levels).map(|(bits, level)| bits * level.keys as f64).sum();
            assert!((spent / 5_000_000.0 - 4.0).abs() < 1e-6, "{spent}");
            assert!((least..most).contains(&(bits[1] - bits[2])), "{bits:?}");
            assert!(bits.windows(2).skip(1).all(|pair| pair[0] > pair[1]), "{bits:?}");
        }
    }

    #[test]
    fn little_memory_leaves_the_largest_level_without_a_filter() {
        let bits = bits_per_level(&tree(&[(0, 0), (1, 1_000), (1, 1_000_000)]), 0.01, StockFilter::Bloom);
        assert_eq!(bits[2], 0.0);
        assert!((bits[1] * 1_000.0 - 0.01 * 1_001_000.0).abs() < 1e-3, "{bits:?}");
    }

    #[test]
    fn files_of_level_zero_are_runs_of_their_own() {
        let bits = bits_per_level(&tree(&[(10, 100_000), (1, 10_000)]), 6.0, StockFilter::Ribbon);
        assert!((bits[0] - bits[1]).abs() < 1e-6, "{bits:?}");
    }
}
