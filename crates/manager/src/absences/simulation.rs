//! What the cache is worth beside the units it takes bytes from: lookups of one million keys in two levels, decided by the planner that
//! decides in the store.

use std::ops::Range;

use springbloom_filter::{KeyDigest, UnitSettings};
use springbloom_testkit::spread::{mix, unit_interval};

use super::share::Share;
use super::{Absence, AbsenceCache, CHUNK_BYTES};
use crate::{Hotness, ManagerSettings, MemoryBudget, Outcome, Planner, ScopeId};

const KEYS: u64 = 1_000_000;
const SEGMENT_KEYS: u64 = 4096;
/// Segments of the two levels: a third of the keys are in the upper one.
const LEVELS: [u64; 2] = [KEYS / 3 / SEGMENT_KEYS, KEYS * 2 / 3 / SEGMENT_KEYS];
const BITS_PER_KEY: u64 = 4;

/// Draws ranks below [`KEYS`].
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(exponent: f64) -> Self {
        let weights = (1..=KEYS).map(|rank| (rank as f64).powf(-exponent));
        Self(
            weights
                .scan(0.0, |sum, weight| {
                    *sum += weight;
                    Some(*sum)
                })
                .collect(),
        )
    }

    fn rank(&self, uniform: f64) -> u64 {
        let drawn = uniform * self.0[self.0.len() - 1];
        self.0.partition_point(|&sum| sum < drawn) as u64
    }
}

struct Store {
    planner: Planner,
    cache: AbsenceCache,
    share: Share,
    remembers: bool,
    visits: u64,
    unit_fpr: f64,
}

impl Store {
    fn new(remembers: bool) -> Self {
        let digests: Vec<_> = (0..SEGMENT_KEYS).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let shape = UnitSettings::ribbon(16).unwrap().build(&digests).shape;
        let budget_bytes = Self::budget_bytes();
        let mut planner = Planner::new(&ManagerSettings { budget_bytes, ..ManagerSettings::default() });
        for (level, segments) in (0..).zip(LEVELS) {
            let segments = vec![(shape, Hotness::default()); segments as usize];
            planner.add_table(level, ScopeId(1), Some(level as u8), &segments);
        }
        let cache = AbsenceCache::new(MemoryBudget::new(budget_bytes));
        let unit_fpr = shape.false_positive_rate(1);
        let mut store = Self { planner, cache, share: Share::default(), remembers, visits: 0, unit_fpr };
        store.resize();
        store
    }

    fn budget_bytes() -> usize {
        (KEYS * BITS_PER_KEY / 8) as usize
    }

    fn resize(&mut self) {
        if self.remembers {
            let (price, budget_bytes) = (self.planner.byte_price(), Self::budget_bytes());
            let chunks = self.share.decide(&self.cache, self.visits, price, budget_bytes);
            self.planner.set_budget_bytes(budget_bytes - chunks * CHUNK_BYTES);
            self.cache.truncate(chunks);
            self.cache.grow(chunks - self.cache.len());
        }
    }

    /// The reads that a lookup wastes. Which units pass a key is fixed, as in real ones.
    fn look_up(&mut self, key: u64, is_absent: bool) -> u64 {
        let (position, home) = (unit_interval(key * 31 + 5), usize::from(unit_interval(key * 31 + 6) > 0.33));
        let mut wasted = 0;
        for (level, segments) in LEVELS.into_iter().enumerate() {
            self.visits += 1;
            let (table, segment) = (level as u32, (position * segments as f64) as u32);
            if !is_absent && level == home {
                self.planner.visit(table, segment, Outcome::TruePositive);
                break;
            }
            let luck = unit_interval(key * 31 + 7 + level as u64);
            let passes = |units: u8| luck < self.unit_fpr.powi(i32::from(units));
            let units = self.planner.units(table, segment);
            let bytes = key.to_le_bytes();
            let absence = Absence::new(table, &bytes, KeyDigest::of(&bytes));
            let outcome = if !passes(units) {
                if passes(units - 1) { Outcome::RejectedByLast } else { Outcome::Rejected }
            } else if self.remembers && self.cache.contains(&absence) {
                Outcome::TruePositive // nothing that a unit could save, as the events say it
            } else {
                wasted += 1;
                self.cache.insert(&absence);
                Outcome::WastedRead
            };
            self.planner.visit(table, segment, outcome);
        }
        if self.share.is_due(self.visits) {
            self.resize();
        }
        wasted
    }

    /// Reads wasted per lookup, half of which are for absent keys.
    fn run(&mut self, zipf: &Zipf, lookups: Range<u64>) -> f64 {
        let count = lookups.end - lookups.start;
        let wasted = lookups.map(|n| {
            let is_absent = mix(2 * n + 1).is_multiple_of(2);
            self.look_up(zipf.rank(unit_interval(2 * n)) * 2 + u64::from(is_absent), is_absent)
        });
        wasted.sum::<u64>() as f64 / count as f64
    }
}

/// Wasted reads with the cache as a share of those without, and the cache's chunks at the end.
fn gain(exponent: f64) -> (f64, usize) {
    let zipf = Zipf::new(exponent);
    let [(_, plain), (chunks, remembering)] = [false, true].map(|remembers| {
        let mut store = Store::new(remembers);
        store.run(&zipf, 0..400_000);
        let wasted = store.run(&zipf, 400_000..800_000);
        (store.cache.len(), wasted)
    });
    println!(
        "Zipf {exponent}: {plain} wasted reads per lookup, {remembering} with {chunks} chunks of absences"
    );
    (remembering / plain, chunks)
}

#[test]
fn hot_absent_keys_waste_fewer_reads() {
    let (ratio, _) = gain(0.99);
    assert!(ratio < 0.8, "{ratio}");
    let (ratio, _) = gain(1.2);
    assert!(ratio < 0.65, "{ratio}");
}

#[test]
fn where_no_key_is_hot_the_cache_costs_next_to_nothing() {
    let (ratio, chunks) = gain(0.01);
    assert!(ratio < 1.03, "{ratio}");
    assert_eq!(chunks, 1, "the least there is");
}
