//! Shapes of trees at any size: the data of each sorted run.

use clap::ValueEnum;

const MIB: f64 = (1u64 << 20) as f64;

/// How an engine arranges its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    /// RocksDB's defaults: two flushed runs of 64 MiB; levels that grow tenfold up to the deepest one, which holds nine tenths
    Leveled,
    /// LevelDB under writes: twelve runs of 4 MiB in level 0; levels of 10 MiB, 100 MiB, ...
    Leveldb,
    /// Universal compaction: up to ten sorted runs, each half of the one below
    Tiered,
    /// PebblesDB: the levels of LevelDB, each of four sorted runs that overlap
    Pebblesdb,
}

impl Shape {
    /// Bytes of each sorted run, newest first. They add up to `data_bytes`.
    pub(super) fn runs(self, data_bytes: f64) -> Vec<f64> {
        let runs = match self {
            Self::Leveled => leveled(data_bytes),
            Self::Leveldb => fixed_levels(data_bytes, 12, 1),
            Self::Tiered => halves(data_bytes),
            Self::Pebblesdb => fixed_levels(data_bytes, 12, 4),
        };
        // A database that is smaller than its upper runs is one run.
        if runs.is_empty() { vec![data_bytes] } else { runs }
    }
}

/// From the deepest level upwards (`level_compaction_dynamic_level_bytes`), down to a base of at most 256 MiB.
fn leveled(data_bytes: f64) -> Vec<f64> {
    const FLUSHED: [f64; 2] = [64.0 * MIB; 2];
    let below = data_bytes - FLUSHED.iter().sum::<f64>();
    if below <= 256.0 * MIB {
        return Vec::new();
    }
    let mut shares = vec![1.0];
    while below * shares[0] / shares.iter().sum::<f64>() > 256.0 * MIB {
        shares.insert(0, shares[0] / 10.0);
    }
    let sum: f64 = shares.iter().sum();
    FLUSHED.into_iter().chain(shares.into_iter().map(|share| below * share / sum)).collect()
}

/// Level 0 of `flushed` runs of 4 MiB, then levels of 10 MiB, 100 MiB, ... of `runs` runs each. The deepest one has what is left.
fn fixed_levels(data_bytes: f64, flushed: usize, runs: usize) -> Vec<f64> {
    let mut sizes = vec![4.0 * MIB; flushed];
    let (mut left, mut level) = (data_bytes - 4.0 * MIB * flushed as f64, 10.0 * MIB);
    if left <= 0.0 {
        return Vec::new();
    }
    while left > 0.0 {
        let size = level.min(left);
        sizes.extend(std::iter::repeat_n(size / runs as f64, runs));
        left -= size;
        level *= 10.0;
    }
    sizes
}

/// Runs of 1/2, 1/4, ... of the data, down to a flush of 64 MiB, ten at most.
fn halves(data_bytes: f64) -> Vec<f64> {
    let mut runs = vec![data_bytes / 2.0];
    while runs.len() < 9 && runs[0] > 128.0 * MIB {
        runs.insert(0, runs[0] / 2.0);
    }
    // As large as the one below it: the sum of an endless row.
    runs.insert(0, runs[0]);
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_at_any_size() {
        for shape in Shape::value_variants() {
            for data_bytes in [1e3, 1e6, 1e8, 3e9, 1e12, 1e14, 1e18] {
                let runs = shape.runs(data_bytes);
                let sum: f64 = runs.iter().sum();
                assert!((sum / data_bytes - 1.0).abs() < 1e-9, "{shape:?} of {data_bytes}: {runs:?}");
                assert!(runs.iter().all(|&run| run > 0.0), "{shape:?} of {data_bytes}: {runs:?}");
            }
        }
    }

    #[test]
    fn levels_grow_tenfold() {
        let runs = Shape::Leveled.runs(100e9);
        let levels: Vec<_> = runs[2..].windows(2).map(|pair| (pair[1] / pair[0]).round()).collect();
        assert_eq!(levels, [10.0, 10.0, 10.0]);
        assert!(runs[2] <= 256.0 * MIB && runs[2] > 25.0 * MIB);
        assert_eq!(Shape::Leveldb.runs(1e9).len(), 12 + 3, "10 MiB, 100 MiB and the rest");
        assert_eq!(Shape::Pebblesdb.runs(1e9).len(), 12 + 3 * 4);
        assert_eq!(Shape::Tiered.runs(1e12).len(), 10);
    }
}
