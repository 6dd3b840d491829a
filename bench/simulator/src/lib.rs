//! Synthetic lookups in an LSM-shaped set of tables. A unit here errs for a fixed set of keys, as real units do: a hot
//! absent key that passes a unit passes it always.

use springbloom_filter::{GroupShape, UnitSettings};
use springbloom_manager::{Hotness, ManagerSettings, Outcome, Planner, ScopeId};
use springbloom_testkit::spread::{mix, unit_interval};

/// An LSM tree: every level spans all keys, and every key lives in one level.
pub struct Tree {
    /// Segments per level.
    pub levels: Vec<u32>,
    pub keys: u64,
    pub shape: GroupShape,
    /// What the deepest level was built as, which may have fewer units.
    pub deepest_shape: GroupShape,
    /// Rates of 0, 1, 2, ... units.
    fpr: Vec<f64>,
}

impl Tree {
    /// Segments of 4,096 keys with six units of four bits per key.
    pub fn new(levels: &[u32]) -> Self {
        Self::with_units(levels, UnitSettings::bloom(6, 4).unwrap())
    }

    /// Segments of 4,096 keys with these units.
    pub fn with_units(levels: &[u32], units: UnitSettings) -> Self {
        let digests: Vec<_> =
            (0..4096u32).map(|n| springbloom_filter::KeyDigest::of(&n.to_le_bytes())).collect();
        let shape = units.build(&digests).shape;
        let deepest_shape = shape;
        let fpr = (0..=shape.unit_count()).map(|units| shape.false_positive_rate(units)).collect();
        Self {
            levels: levels.to_vec(),
            keys: u64::from(levels.iter().sum::<u32>()) * 4096,
            shape,
            deepest_shape,
            fpr,
        }
    }

    /// The same with so many ribbon units in its deepest level.
    pub fn with_deepest(self, units: u8) -> Self {
        let digests: Vec<_> =
            (0..4096u32).map(|n| springbloom_filter::KeyDigest::of(&n.to_le_bytes())).collect();
        Self { deepest_shape: UnitSettings::ribbon(units).unwrap().build(&digests).shape, ..self }
    }

    /// The tree of Setting S1: four levels, about five million keys.
    pub fn s1(units: UnitSettings) -> Self {
        Self::with_units(&[4, 40, 436, 880], units)
    }

    pub fn segments(&self) -> u32 {
        self.levels.iter().sum()
    }

    /// Level that holds key number `key`.
    fn level_of(&self, key: u64) -> usize {
        let mut at = (unit_interval(key ^ 0xABCD_0123) * f64::from(self.segments())) as u32;
        for (level, &segments) in self.levels.iter().enumerate() {
            if at < segments {
                return level;
            }
            at -= segments;
        }
        self.levels.len() - 1
    }

    /// How the first `units` units of a segment end the visit of an absent key.
    fn outcome(&self, level: usize, key: u64, units: u8) -> Outcome {
        let rejecting = (0..units).find(|&unit| {
            unit_interval(key.wrapping_mul(31) ^ mix((level as u64) << 8 | u64::from(unit))) >= self.fpr[1]
        });
        match rejecting {
            None => Outcome::WastedRead,
            Some(unit) if unit + 1 == units => Outcome::RejectedByLast,
            Some(_) => Outcome::Rejected,
        }
    }

    /// Visits of one lookup until the key is found: (level, segment, whether it is there).
    pub fn visits(&self, key: u64, absent: bool) -> impl Iterator<Item = (usize, u32, bool)> {
        let found_at = if absent { usize::MAX } else { self.level_of(key) };
        let position = unit_interval(key ^ 0x5555);
        self.levels.iter().enumerate().take_while(move |&(level, _)| level <= found_at).map(
            move |(level, &segments)| (level, (position * f64::from(segments)) as u32, level == found_at),
        )
    }
}

#[derive(Clone, Copy)]
pub enum Distribution {
    Uniform,
    Zipf(f64),
    Hotspot {
        share: f64,
        hits: f64,
    },
    /// Zipf over the ranks, and all ranks move on by one key every so many lookups.
    Drifting {
        zipf: f64,
        lookups_per_key: u64,
    },
    /// Two hot sets take turns, each for so many lookups: what was learned is wrong when it is used.
    Alternating {
        share: f64,
        hits: f64,
        lookups: u64,
    },
}

/// Key numbers by rank through a salted mapping.
pub struct Keys {
    distribution: Distribution,
    count: u64,
    zeta: f64,
    salt: u64,
    state: u64,
    lookups: u64,
}

impl Keys {
    pub fn new(distribution: Distribution, count: u64, salt: u64) -> Self {
        let zeta = match distribution {
            Distribution::Zipf(s) | Distribution::Drifting { zipf: s, .. } => {
                // Euler-Maclaurin beyond the first 10,000.
                let head: f64 = (1..=10_000u64).map(|rank| (rank as f64).powf(-s)).sum();
                let (a, b) = (10_000.5f64, count as f64 + 0.5);
                head + if (s - 1.0).abs() < 1e-9 {
                    (b / a).ln()
                } else {
                    (b.powf(1.0 - s) - a.powf(1.0 - s)) / (1.0 - s)
                }
            }
            _ => 0.0,
        };
        Self { distribution, count, zeta, salt, state: salt, lookups: 0 }
    }

    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        unit_interval(self.state)
    }

    fn rank(&mut self) -> u64 {
        let u = self.random();
        match self.distribution {
            Distribution::Uniform => (u * self.count as f64) as u64,
            Distribution::Hotspot { share, hits } | Distribution::Alternating { share, hits, .. } => {
                let hot = share * self.count as f64;
                if u < hits {
                    (u / hits * hot) as u64
                } else {
                    (hot + (u - hits) / (1.0 - hits) * (self.count as f64 - hot)) as u64
                }
            }
            Distribution::Zipf(s) | Distribution::Drifting { zipf: s, .. } => {
                // Inverse of the (continuous beyond 100) cumulative distribution.
                let mut target = u * self.zeta;
                for rank in 1..=100u64 {
                    target -= (rank as f64).powf(-s);
                    if target <= 0.0 {
                        return rank - 1;
                    }
                }
                let a = 100.5f64;
                let x = if (s - 1.0).abs() < 1e-9 {
                    a * target.exp()
                } else {
                    (a.powf(1.0 - s) + (1.0 - s) * target).powf(1.0 / (1.0 - s))
                };
                (x as u64).min(self.count - 1)
            }
        }
    }

    /// A key number and whether it is absent (half of them).
    pub fn next(&mut self) -> (u64, bool) {
        let absent = self.random() < 0.5;
        let rank = self.rank();
        self.lookups += 1;
        let moved = match self.distribution {
            Distribution::Drifting { lookups_per_key, .. } => rank + self.lookups / lookups_per_key,
            Distribution::Alternating { lookups, .. } => rank ^ ((self.lookups / lookups % 2) << 40),
            _ => rank,
        };
        (mix(moved ^ self.salt.wrapping_mul(0x1234_5677)) ^ u64::from(absent), absent)
    }
}

pub struct Run {
    pub wasted_per_get: f64,
    /// Units loaded while measuring.
    pub loads: u64,
    /// Wasted per get of the best allocation by the true negatives of the measured lookups and analytic rates.
    pub optimum: f64,
}

/// Greedy by negatives * fall of fpr: optimal for units of one size.
pub fn optimum(tree: &Tree, negatives: &[Vec<u64>], units_total: usize) -> f64 {
    let mut worths = Vec::new();
    let mut wasted = 0.0;
    for &count in negatives.iter().flatten() {
        wasted += count as f64;
        for unit in 0..tree.fpr.len() - 1 {
            worths.push(count as f64 * (tree.fpr[unit] - tree.fpr[unit + 1]));
        }
    }
    worths.sort_by(|a, b| b.total_cmp(a));
    wasted - worths.iter().take(units_total).sum::<f64>()
}

/// A planner that knows the tree, in tables of four segments.
pub fn planner(tree: &Tree, settings: &ManagerSettings, budget_bytes: usize) -> Planner {
    let mut planner = Planner::new(&ManagerSettings { budget_bytes, ..settings.clone() });
    let mut table = 0;
    for (level, &segments) in tree.levels.iter().enumerate() {
        for first in (0..segments).step_by(4) {
            let count = (segments - first).min(4) as usize;
            let is_deepest = level + 1 == tree.levels.len();
            let shape = if is_deepest { tree.deepest_shape } else { tree.shape };
            planner.add_table(
                table,
                ScopeId(1),
                Some(level as u8 + 1),
                &vec![(shape, Hotness::default()); count],
            );
            table += 1;
        }
    }
    while planner.rebalance() {}
    planner
}

pub fn table_of(tree: &Tree, level: usize, segment: u32) -> (u32, u32) {
    let before: u32 = tree.levels[..level].iter().map(|segments| segments.div_ceil(4)).sum();
    (before + segment / 4, segment % 4)
}

pub fn look_up(
    tree: &Tree,
    planner: &mut Planner,
    key: u64,
    absent: bool,
    mut note: impl FnMut(usize, u32),
) -> u32 {
    let mut wasted = 0;
    for (level, segment, is_there) in tree.visits(key, absent) {
        let (table, inner) = table_of(tree, level, segment);
        let outcome = if is_there {
            Outcome::TruePositive
        } else {
            note(level, segment);
            tree.outcome(level, key, planner.units(table, inner))
        };
        wasted += u32::from(outcome == Outcome::WastedRead);
        planner.visit(table, inner, outcome);
    }
    wasted
}

/// Warms up with `gets / 2` lookups and measures `gets`; the budget is what `bits` bits per key would take in whole units.
pub fn run(tree: &Tree, settings: &ManagerSettings, bits: f64, keys: &mut Keys, gets: u32) -> Run {
    let units = units_for(tree, bits);
    run_in(tree, settings, units * unit_bytes(tree), units, keys, gets)
}

/// The same with a budget for units and their owners in bytes, against `units` units.
pub fn run_in(
    tree: &Tree,
    settings: &ManagerSettings,
    budget_bytes: usize,
    units: usize,
    keys: &mut Keys,
    gets: u32,
) -> Run {
    let mut planner = planner(tree, settings, budget_bytes);
    for _ in 0..gets / 2 {
        let (key, absent) = keys.next();
        look_up(tree, &mut planner, key, absent, |_, _| ());
    }
    measure(tree, &mut planner, units, keys, gets)
}

/// Units of the whole tree that so many bits per key pay for.
pub fn units_for(tree: &Tree, bits: f64) -> usize {
    (tree.keys as f64 * bits / 8.0 / tree.shape.unit_bytes() as f64) as usize
}

/// Looks up `gets` keys.
pub fn measure(tree: &Tree, planner: &mut Planner, units: usize, keys: &mut Keys, gets: u32) -> Run {
    let mut negatives: Vec<Vec<u64>> =
        tree.levels.iter().map(|&segments| vec![0; segments as usize]).collect();
    let (loads, mut wasted) = (planner.changed_units().0, 0u64);
    for _ in 0..gets {
        let (key, absent) = keys.next();
        wasted += u64::from(look_up(tree, planner, key, absent, |level, segment| {
            negatives[level][segment as usize] += 1;
        }));
    }
    Run {
        wasted_per_get: wasted as f64 / f64::from(gets),
        loads: planner.changed_units().0 - loads,
        optimum: optimum(tree, &negatives, units) / f64::from(gets),
    }
}

/// Bytes that one unit takes, by asking.
pub fn unit_bytes(tree: &Tree) -> usize {
    let mut planner = Planner::new(&ManagerSettings { budget_bytes: 1 << 20, ..ManagerSettings::default() });
    planner.add_table(0, ScopeId(1), None, &[(tree.shape, Hotness::default())]);
    planner.planned_bytes()
}
