//! The very policies of the store over synthetic lookups in an LSM-shaped set of tables, against what could be reached with
//! foreknowledge. A unit here errs for a fixed set of keys, as real units do: a hot absent key that passes a unit passes it
//! always.

use springbloom_filter::{GroupShape, UnitSettings};
use springbloom_manager::{Hotness, ManagerSettings, Outcome, Planner, PolicyKind, ScopeId};

/// Bytes a unit takes on top of those before it, about: for the offline optimum, which knows no allocator.
struct Tree {
    /// Segments per level.
    levels: Vec<u32>,
    keys: u64,
    shape: GroupShape,
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x = (x ^ (x >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

/// Uniform in [0, 1).
fn unit_interval(x: u64) -> f64 {
    (mix(x) >> 11) as f64 / (1u64 << 53) as f64
}

impl Tree {
    fn s1() -> Self {
        // 4096 keys, 6 units of 4 bits per key.
        let digests: Vec<_> =
            (0..4096u32).map(|n| springbloom_filter::KeyDigest::of(&n.to_le_bytes())).collect();
        let shape = UnitSettings::bloom(6, 4).unwrap().build(&digests).shape;
        Self { levels: vec![4, 40, 436, 880], keys: 1360 * 4096, shape }
    }

    fn segments(&self) -> u32 {
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

    /// Whether an absent key passes the first `units` units of a segment.
    fn passes(&self, level: usize, key: u64, units: u8) -> bool {
        let fpr = self.shape.false_positive_rate(1);
        (0..units).all(|unit| {
            unit_interval(key.wrapping_mul(31) ^ mix((level as u64) << 8 | u64::from(unit))) < fpr
        })
    }

    /// Visits of one lookup until the key is found: (level, segment, whether it is there).
    fn visits(&self, key: u64, absent: bool) -> impl Iterator<Item = (usize, u32, bool)> {
        let found_at = if absent { usize::MAX } else { self.level_of(key) };
        let position = unit_interval(key ^ 0x5555);
        self.levels.iter().enumerate().take_while(move |&(level, _)| level <= found_at).map(
            move |(level, &segments)| (level, (position * f64::from(segments)) as u32, level == found_at),
        )
    }
}

#[derive(Clone, Copy)]
enum Distribution {
    Uniform,
    Zipf(f64),
    Hotspot { share: f64, hits: f64 },
}

/// Key numbers by rank through a salted mapping.
struct Keys {
    distribution: Distribution,
    count: u64,
    zeta: f64,
    salt: u64,
    state: u64,
}

impl Keys {
    fn new(distribution: Distribution, count: u64, salt: u64) -> Self {
        let zeta = match distribution {
            Distribution::Zipf(s) => {
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
        Self { distribution, count, zeta, salt, state: salt }
    }

    fn random(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        unit_interval(self.state)
    }

    fn rank(&mut self) -> u64 {
        let u = self.random();
        match self.distribution {
            Distribution::Uniform => (u * self.count as f64) as u64,
            Distribution::Hotspot { share, hits } => {
                let hot = share * self.count as f64;
                if u < hits {
                    (u / hits * hot) as u64
                } else {
                    (hot + (u - hits) / (1.0 - hits) * (self.count as f64 - hot)) as u64
                }
            }
            Distribution::Zipf(s) => {
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
    fn next(&mut self) -> (u64, bool) {
        let absent = self.random() < 0.5;
        let rank = self.rank();
        (mix(rank ^ self.salt.wrapping_mul(0x1234_5677)) ^ u64::from(absent), absent)
    }
}

struct Run {
    wasted_per_get: f64,
    loads: u64,
    /// Wasted per get of the best allocation by the true negatives of the measured lookups and analytic rates.
    optimum: f64,
}

/// Greedy by negatives * fall of fpr: optimal for units of one size.
fn optimum(tree: &Tree, negatives: &[Vec<u64>], units_total: usize) -> f64 {
    let mut worths = Vec::new();
    let mut wasted = 0.0;
    for &count in negatives.iter().flatten() {
        wasted += count as f64;
        for unit in 0..6u8 {
            worths.push(
                count as f64
                    * (tree.shape.false_positive_rate(unit) - tree.shape.false_positive_rate(unit + 1)),
            );
        }
    }
    worths.sort_by(|a, b| b.total_cmp(a));
    wasted - worths.iter().take(units_total).sum::<f64>()
}

fn planner(tree: &Tree, policy: PolicyKind, budget_bytes: usize, settings: ManagerSettings) -> Planner {
    let mut planner = Planner::new(&ManagerSettings { budget_bytes, policy, ..settings });
    let mut table = 0;
    for (level, &segments) in tree.levels.iter().enumerate() {
        for first in (0..segments).step_by(4) {
            let count = (segments - first).min(4) as usize;
            planner.add_table(
                table,
                ScopeId(1),
                Some(level as u8 + 1),
                &vec![(tree.shape, Hotness::default()); count],
            );
            table += 1;
        }
    }
    while planner.rebalance() {}
    planner
}

fn table_of(tree: &Tree, level: usize, segment: u32) -> (u32, u32) {
    let before: u32 = tree.levels[..level].iter().map(|segments| segments.div_ceil(4)).sum();
    (before + segment / 4, segment % 4)
}

fn look_up(
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
            if tree.passes(level, key, planner.units(table, inner)) {
                wasted += 1;
                Outcome::WastedRead
            } else {
                Outcome::Rejected
            }
        };
        planner.visit(table, inner, outcome);
    }
    wasted
}

fn run(
    tree: &Tree,
    policy: PolicyKind,
    bits: f64,
    distribution: Distribution,
    salt: u64,
    settings: ManagerSettings,
) -> Run {
    // As many bytes as so many bits per key would take in whole units, owners included.
    let one = planner_bytes(tree);
    let units = (f64::from(tree.segments()) * bits / 4.0) as usize;
    let mut planner = planner(tree, policy, units * one, settings);
    let mut keys = Keys::new(distribution, tree.keys, salt);
    for _ in 0..300_000 {
        let (key, absent) = keys.next();
        look_up(tree, &mut planner, key, absent, |_, _| ());
    }
    let warm = planner.changed_units().0;
    let mut negatives: Vec<Vec<u64>> =
        tree.levels.iter().map(|&segments| vec![0; segments as usize]).collect();
    let gets = 1_000_000;
    let mut wasted = 0u64;
    for _ in 0..gets {
        let (key, absent) = keys.next();
        wasted += u64::from(look_up(tree, &mut planner, key, absent, |level, segment| {
            negatives[level][segment as usize] += 1;
        }));
    }
    Run {
        wasted_per_get: wasted as f64 / f64::from(gets),
        loads: planner.changed_units().0 - warm,
        optimum: optimum(tree, &negatives, units) / f64::from(gets),
    }
}

/// Bytes that one unit takes, by asking.
fn planner_bytes(tree: &Tree) -> usize {
    let mut planner = Planner::new(&ManagerSettings { budget_bytes: 1 << 20, ..ManagerSettings::default() });
    planner.add_table(0, ScopeId(1), None, &[(tree.shape, Hotness::default())]);
    planner.planned_bytes()
}

#[test]
#[ignore = "prints a table; run by hand in release mode"]
fn table() {
    let tree = Tree::s1();
    for (name, distribution) in [
        ("zipf .99", Distribution::Zipf(0.99)),
        ("zipf .6", Distribution::Zipf(0.6)),
        ("zipf 1.2", Distribution::Zipf(1.2)),
        ("uniform", Distribution::Uniform),
        ("hotspot 1%/90%", Distribution::Hotspot { share: 0.01, hits: 0.9 }),
    ] {
        for bits in [4.0, 2.0] {
            for policy in PolicyKind::ALL {
                let mut runs: Vec<Run> = (1..=4)
                    .map(|salt| run(&tree, policy, bits, distribution, salt, ManagerSettings::default()))
                    .collect();
                runs.sort_by(|a, b| a.wasted_per_get.total_cmp(&b.wasted_per_get));
                let mean = |f: &dyn Fn(&Run) -> f64| runs.iter().map(f).sum::<f64>() / runs.len() as f64;
                println!(
                    "{name:15} {bits} bits  {policy:12} wasted/get mean {:.4} ({:.4}..{:.4})  optimum {:.4}  loads/get {:.5}",
                    mean(&|run| run.wasted_per_get),
                    runs[0].wasted_per_get,
                    runs[3].wasted_per_get,
                    mean(&|run| run.optimum),
                    mean(&|run| run.loads as f64) / 1e6,
                );
            }
        }
    }
}
