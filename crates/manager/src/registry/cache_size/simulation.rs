//! What the cache is worth beside the units it takes bytes from: lookups of keys in two levels, decided by the planner that decides in the
//! store.

use std::ops::Range;

use springbloom_filter::{KeyDigest, UnitSettings};
use springbloom_workload::hash::{mix, unit_interval};

use super::sizing::{CacheSize, Reading};
use crate::budget::MemoryBudget;
use crate::lookup::negative_cache::{AbsentKey, CHUNK_BYTES, NegativeCache};
use crate::names::ScopeId;
use crate::plan::{Hotness, Planner};
use crate::settings::ManagerSettings;
use crate::visits::Outcome;

/// How many keys there are, and how they are remembered.
#[derive(Clone, Copy)]
struct Setting {
    keys: u64,
    segment_keys: u64,
    budget_bytes: usize,
    /// Bytes of a key that are put in.
    key_bytes: usize,
    remembers: bool,
    /// Of the budget; `None`: as the cache decides.
    share: Option<f64>,
    salt: u64,
}

impl Setting {
    /// A million keys, four bits for each.
    fn small(remembers: bool) -> Self {
        let keys = 1_000_000;
        let budget_bytes = keys as usize / 2;
        Self { keys, segment_keys: 4096, budget_bytes, key_bytes: 8, remembers, share: None, salt: 0 }
    }

    /// Setting S1: tables of two segments, for each of which `table_bytes` of the budget are gone. Keys of 24 bytes are
    /// remembered in 20, without what all have in common.
    fn s1(bits_per_key: usize, table_bytes: usize) -> Self {
        let (keys, tables) = (5_000_000, 324);
        let budget_bytes = keys as usize * bits_per_key / 8 * 255 / 256 - 8000 - tables * table_bytes;
        let segment_keys = keys / tables as u64 / 2;
        Self { keys, segment_keys, budget_bytes, key_bytes: 20, ..Self::small(true) }
    }

    /// A hundred tables of 64 MiB with eight segments each, for each of which 500 bytes of the budget are gone.
    fn large_tables() -> Self {
        let (tables, segment_keys) = (100, 8192);
        let keys = tables as u64 * 8 * segment_keys;
        Self {
            keys,
            segment_keys,
            budget_bytes: keys as usize / 2 - tables * 500,
            key_bytes: 20,
            ..Self::small(true)
        }
    }

    /// Segments of the two levels: a third of the keys are in the upper one.
    fn levels(&self) -> [u64; 2] {
        [self.keys / 3 / self.segment_keys, self.keys * 2 / 3 / self.segment_keys]
    }
}

/// Draws ranks below the number of keys.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(keys: u64, exponent: f64) -> Self {
        let weights = (1..=keys).map(|rank| (rank as f64).powf(-exponent));
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
    setting: Setting,
    planner: Planner,
    cache: NegativeCache,
    share: CacheSize,
    visits: u64,
    saved: u64,
    unit_fpr: f64,
}

impl Store {
    fn new(setting: Setting) -> Self {
        let digests: Vec<_> = (0..setting.segment_keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let shape = UnitSettings::ribbon(16).unwrap().build(&digests).shape;
        let budget_bytes = setting.budget_bytes;
        let mut planner = Planner::new(&ManagerSettings::default(), budget_bytes);
        for (level, segments) in (0..).zip(setting.levels()) {
            let segments = vec![(shape, Hotness::default()); segments as usize];
            planner.add_table(level, ScopeId(1), Some(level as u8), &segments);
        }
        let cache = NegativeCache::new(MemoryBudget::new(budget_bytes));
        let unit_fpr = shape.false_positive_rate(1);
        let mut store =
            Self { setting, planner, cache, share: CacheSize::default(), visits: 0, saved: 0, unit_fpr };
        store.resize();
        store
    }

    fn resize(&mut self) {
        if self.setting.remembers {
            let (price, budget_bytes) = (self.planner.marginal_value_per_byte(), self.setting.budget_bytes);
            let reading = Reading { visits: self.visits, saved: self.saved, price };
            self.share.decide(&self.cache, &reading);
            let decided = self.share.chunks(budget_bytes);
            let fixed = self.setting.share.map(|share| (share * budget_bytes as f64) as usize / CHUNK_BYTES);
            let chunks = fixed.unwrap_or(decided);
            self.planner.set_budget_bytes(budget_bytes - chunks * CHUNK_BYTES);
            self.cache.truncate(chunks);
            self.cache.grow(chunks - self.cache.len());
        }
    }

    /// The reads that a lookup wastes. Which units pass a key is fixed, as in real ones.
    fn look_up(&mut self, key: u64, is_absent: bool) -> u64 {
        let key = mix(key ^ self.setting.salt << 40);
        let (position, home) = (unit_interval(key ^ 5), usize::from(unit_interval(key ^ 6) > 0.33));
        let mut wasted = 0;
        for (level, segments) in self.setting.levels().into_iter().enumerate() {
            self.visits += 1;
            let (table, segment) = (level as u32, (position * segments as f64) as u32);
            if !is_absent && level == home {
                self.planner.visit(table, segment, Outcome::TruePositive);
                break;
            }
            let luck = unit_interval(key ^ (7 + level as u64) << 32);
            let passes = |units: u8| luck < self.unit_fpr.powi(i32::from(units));
            let units = self.planner.units(table, segment);
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&key.to_le_bytes());
            let warm_start = &bytes[..self.setting.key_bytes];
            let absence = AbsentKey::new(table, warm_start, KeyDigest::of(&bytes));
            let outcome = if !passes(units) {
                if passes(units - 1) { Outcome::RejectedByLast } else { Outcome::Rejected }
            } else if self.setting.remembers && self.cache.contains(&absence) {
                self.saved += 1;
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
    let zipf = Zipf::new(Setting::small(true).keys, exponent);
    let [(_, plain), (chunks, remembering)] = [false, true].map(|remembers| {
        let mut store = Store::new(Setting::small(remembers));
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

#[test]
#[ignore = "prints the adaptive share against fixed ones, in some minutes; run in release mode with --nocapture"]
fn adaptive_and_fixed_shares() {
    for (name, setting) in [("S1", Setting::s1(4, 281)), ("64 MiB tables", Setting::large_tables())] {
        for exponent in [0.99, 0.01] {
            let zipf = Zipf::new(setting.keys, exponent);
            for share in [0.02, 0.03125, 0.045].map(Some).into_iter().chain([None]) {
                let wasted = [1, 2].map(|salt| {
                    let mut store = Store::new(Setting { share, salt, ..setting });
                    store.run(&zipf, 0..300_000);
                    store.run(&zipf, 300_000..1_300_000)
                });
                println!(
                    "{name}, Zipf {exponent}, share {share:?}: {:.4} wasted reads per lookup",
                    (wasted[0] + wasted[1]) / 2.0
                );
            }
        }
    }
}
