//! A part of the key space that stands for all of it, so that a tree of any size can be simulated.
//!
//! A share of the key space is looked at alone: every sorted run has as large a share of its segments there, and the budget is as large a
//! share of all memory. Keys are hashed, so the share holds as large a part of the keys of any popularity. Under a Zipf distribution its
//! `j`-th most popular key is about number `j / share` of all keys, and `(j / share)^-s` is proportional to `j^-s`: within the share,
//! lookups have the same distribution over fewer keys. Only the `1 / share` most popular keys have no counterpart in it. The same holds of
//! ranges of keys.

use springbloom_filter::UnitSettings;
use springbloom_format::{MAX_SEGMENT_BYTES_PER_KEY, MAX_SEGMENT_KEYS};
use springbloom_workload::Distribution;

use crate::Tree;

/// What a sample is taken of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole {
    pub(super) families: u32,
    /// Of each family.
    pub(super) records: u64,
    pub(super) record_bytes: u64,
    pub(super) table_bytes: u64,
    pub(super) segment_size: u64,
}

/// A tree of a share of the keys.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) tree: Tree,
    /// Keys of the tree divided by all keys; 1 if all are simulated.
    pub(super) share: f64,
}

/// With fewer, a sample differs from others by chance.
pub(super) const SAMPLED_RANGES_MIN: u64 = 100;

impl Whole {
    /// Records of all families.
    pub(super) fn all_records(self) -> u64 {
        self.records * u64::from(self.families)
    }

    /// Keys of a segment, as the writer of tables cuts them.
    fn segment_keys(self) -> u64 {
        let least = self.segment_size / MAX_SEGMENT_BYTES_PER_KEY;
        (self.segment_size / self.record_bytes).max(least).min(MAX_SEGMENT_KEYS as u64)
    }
}

impl Sample {
    /// A tree of about `segments` segments, or all if there are no more. `runs` are those of each family.
    pub(super) fn of(whole: Whole, runs: &[f64], segments: u32, units: UnitSettings) -> Self {
        let table_keys = whole.table_bytes / whole.record_bytes;
        let segment_keys = whole.segment_keys().clamp(1, whole.records.min(table_keys));
        let bytes = (segment_keys * whole.record_bytes) as f64;
        let all: f64 = runs.iter().map(|run| run / bytes).sum::<f64>() * f64::from(whole.families);
        let share = (f64::from(segments) / all).min(1.0);
        // A run of less than a segment has one all the same: it takes little memory compared with the others.
        let levels: Vec<_> = runs.iter().map(|run| (run / bytes * share).round().max(1.0) as u32).collect();
        let table_segments = (table_keys / segment_keys).max(1) as u32;
        let tree = Tree::new(&levels, table_segments, segment_keys, units).of_families(whole.families);
        let share = if share < 1.0 { tree.family_keys() as f64 / whole.records as f64 } else { 1.0 };
        Self { tree, share: share.min(1.0) }
    }

    /// Ranges of keys in the sample, where they are too few to stand for all.
    pub(super) fn too_few_ranges(&self, distribution: Distribution) -> Option<u64> {
        let ranges = distribution.ranks(self.tree.family_keys());
        (distribution.needs_key_order() && self.share < 1.0 && ranges < SAMPLED_RANGES_MIN).then_some(ranges)
    }

    /// Share of lookups for keys, or ranges of keys, that are more popular than any in the sample. They waste no reads: so hot a key pays
    /// for the units that reject it, and the few ranges have all units.
    pub(super) fn head(&self, whole: Whole, distribution: Distribution) -> f64 {
        match distribution {
            Distribution::Zipf { exponent } | Distribution::Ranges { exponent, .. } if self.share < 1.0 => {
                let ranks = distribution.ranks(whole.records) as f64;
                zipf_sum(1.0 / self.share, exponent) / zipf_sum(ranks, exponent)
            }
            _ => 0.0,
        }
    }
}

/// The sum of `rank^-exponent` over the ranks up to `ranks`, by Euler and Maclaurin's formula.
fn zipf_sum(ranks: f64, exponent: f64) -> f64 {
    const EXACT: u32 = 100;
    let exact = ranks.min(f64::from(EXACT)) as u32;
    let head: f64 = (1..=exact).map(|rank| f64::from(rank).powf(-exponent)).sum();
    let from = f64::from(exact);
    if ranks <= from {
        return head;
    }
    let integral = if (exponent - 1.0).abs() < 1e-9 {
        (ranks / from).ln()
    } else {
        (ranks.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
    };
    head + integral + (ranks.powf(-exponent) - from.powf(-exponent)) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::shape::Shape;

    const WHOLE: Whole = Whole {
        families: 1,
        records: 1_000_000_000,
        record_bytes: 1000,
        table_bytes: 64 << 20,
        segment_size: 8 << 20,
    };

    #[test]
    fn sums_of_zipf_weights() {
        for exponent in [0.5, 0.99, 1.0, 1.3] {
            for ranks in [1u32, 50, 100, 101, 10_000] {
                let exact: f64 = (1..=ranks).map(|rank| f64::from(rank).powf(-exponent)).sum();
                let sum = zipf_sum(f64::from(ranks), exponent);
                assert!((sum / exact - 1.0).abs() < 1e-5, "{exponent} {ranks}: {sum} {exact}");
            }
        }
    }

    #[test]
    fn a_sample_has_the_shape_of_the_whole() {
        let runs = Shape::Leveled.runs(1e12);
        let sample = Sample::of(WHOLE, &runs, 2000, UnitSettings::default());
        let deepest = f64::from(sample.tree.levels[sample.tree.levels.len() - 1]);
        assert!((1990..=2010).contains(&sample.tree.segments()), "{}", sample.tree.segments());
        assert!((deepest / 1800.0 - 1.0).abs() < 0.01, "{deepest}");
        assert!((sample.share * 1e9 / 2000.0 / 8388.0 - 1.0).abs() < 0.01, "{}", sample.share);
        let head = sample.head(WHOLE, Distribution::Zipf { exponent: 0.99 });
        assert!((0.1..0.3).contains(&head), "{head}");
        assert_eq!(sample.head(WHOLE, Distribution::Uniform), 0.0);
    }

    #[test]
    fn ranges_that_are_longer_than_a_hundredth_of_a_sample_are_too_few() {
        let runs = Shape::Leveled.runs(1e12);
        let sample = Sample::of(WHOLE, &runs, 2000, UnitSettings::default());
        let ranges = |range_records| Distribution::Ranges { range_records, exponent: 0.99 };
        let longest = sample.tree.keys() / 100;
        assert_eq!(sample.too_few_ranges(ranges(longest)), None);
        assert_eq!(sample.too_few_ranges(ranges(2 * longest)), Some(51));
        assert_eq!(sample.too_few_ranges(Distribution::Uniform), None);
        let head = sample.head(WHOLE, ranges(longest));
        assert!((0.1..0.5).contains(&head), "{head}");
        let whole = Whole { records: 1_000_000, ..WHOLE };
        let small = Sample::of(whole, &Shape::Leveled.runs(1e9), 2000, UnitSettings::default());
        assert_eq!(small.too_few_ranges(ranges(500_000)), None, "all are simulated");
    }

    #[test]
    fn segments_are_cut_as_tables_are_written() {
        let keys = |record_bytes| {
            let whole = Whole { record_bytes, ..WHOLE };
            let sample = Sample::of(whole, &Shape::Leveled.runs(1e12), 2000, UnitSettings::default());
            (sample.tree.table_segments, sample.tree.segment_keys)
        };
        assert_eq!(keys(1000), (8, 8388));
        assert_eq!(keys(100), (10, MAX_SEGMENT_KEYS as u64));
        assert_eq!(keys(16_000), (1, 4096), "as few keys would cost more bookkeeping than units");
        assert_eq!(keys(100_000), (1, 671), "no more than the table has");
    }

    #[test]
    fn families_share_the_segments() {
        let runs = Shape::Leveled.runs(1e12);
        let [one, four] = [(1, 500), (4, 2000)].map(|(families, segments)| {
            Sample::of(Whole { families, ..WHOLE }, &runs, segments, UnitSettings::default())
        });
        assert_eq!(four.tree.levels, one.tree.levels.repeat(4));
        assert_eq!(four.share, one.share);
    }

    #[test]
    fn small_trees_are_simulated_as_they_are() {
        let whole = Whole { records: 1_000_000, ..WHOLE };
        let sample = Sample::of(whole, &Shape::Leveled.runs(1e9), 2000, UnitSettings::default());
        assert_eq!(sample.share, 1.0);
        assert!((110..=130).contains(&sample.tree.segments()), "{}", sample.tree.segments());
        let tiny = Whole { records: 10, ..WHOLE };
        assert_eq!(
            Sample::of(tiny, &Shape::Leveled.runs(1e4), 2000, UnitSettings::default()).tree.keys(),
            10
        );
    }
}
