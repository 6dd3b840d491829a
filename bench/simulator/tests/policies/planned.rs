//! A planner alone over the lookups of a tree: no bookkeeping, instant loads. A unit has a fixed set of false positives,
//! as real units do: a hot absent key that passes a unit always passes it.

use springbloom_manager::{Hotness, ManagerSettings, Outcome, Planner, Policy, ScopeId};
use springbloom_simulator::{FamilyRun, Lookup, Lookups, Tree, optimum};
use springbloom_workload::hash::{mix, unit_interval};

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Wasted reads per lookup.
    pub(crate) wasted_per_lookup: f64,
    /// Units loaded during the measurement.
    pub(crate) loads: u64,
    /// Wasted reads per lookup of the best fixed allocation.
    pub(crate) optimum: f64,
}

/// A planner with the tables of a tree.
pub(crate) struct Planned<'a> {
    tree: &'a Tree,
    bits: f64,
    /// False positive rate of a unit.
    unit_rate: f64,
    /// The planner, as in the store.
    pub(crate) planner: Planner,
}

impl<'a> Planned<'a> {
    /// A planner with all tables of `tree`. Its budget is that of `bits` bits per key, in whole units.
    pub(crate) fn new(tree: &'a Tree, policy: Box<dyn Policy>, bits: f64) -> Self {
        let shape = tree.group.shape;
        let budget_units = (tree.keys() as f64 * bits / 8.0 / shape.unit_bytes() as f64) as usize;
        let mut planner = Planner::with_policy(policy, None, budget_units * unit_bytes(tree));
        let levels = (0..tree.levels.len())
            .flat_map(|level| tree.segments_by_table(level).map(move |segments| (level, segments)));
        for (table, (level, segments)) in (0..).zip(levels) {
            let segments = vec![(shape, Hotness::default()); segments as usize];
            planner.add_table(table, ScopeId(1), Some(level as u8 + 1), &segments);
        }
        while planner.rebalance() {}
        Self { tree, bits, unit_rate: shape.false_positive_rate(1), planner }
    }

    /// Performs lookups, and gives their wasted reads.
    pub(crate) fn look_up(&mut self, lookups: impl Iterator<Item = Lookup>) -> u64 {
        let (tree, mut wasted) = (self.tree, 0);
        for lookup in lookups {
            for visit in tree.visits(lookup) {
                let (table, inner) = tree.place(visit.level, visit.segment);
                let outcome = if visit.is_there {
                    Outcome::TruePositive
                } else {
                    self.outcome(visit.level, lookup.key, self.planner.units(table, inner))
                };
                wasted += u64::from(outcome == Outcome::WastedRead);
                self.planner.visit(table, inner, outcome);
            }
        }
        wasted
    }

    /// Performs `count` lookups.
    pub(crate) fn measure(&mut self, lookups: &mut Lookups, count: usize) -> Run {
        let lookups: Vec<_> = lookups.take(count).collect();
        let loads = self.planner.allocation().admitted_units();
        let wasted = self.look_up(lookups.iter().copied());
        let best = optimum(self.tree, self.bits, lookups.into_iter());
        Run {
            wasted_per_lookup: wasted as f64 / count as f64,
            loads: self.planner.allocation().admitted_units() - loads,
            optimum: FamilyRun::wasted_per_lookup(&best),
        }
    }

    /// The outcome of a visit for an absent key, with the first `units` units of the segment.
    fn outcome(&self, level: usize, key: u64, units: u8) -> Outcome {
        let rejecting = (0..units).find(|&unit| {
            let salt = mix((level as u64) << 8 | u64::from(unit));
            unit_interval(key.wrapping_mul(31) ^ salt) >= self.unit_rate
        });
        match rejecting {
            None => Outcome::WastedRead,
            Some(unit) if unit + 1 == units => Outcome::RejectedByLast,
            Some(_) => Outcome::Rejected,
        }
    }
}

/// Bytes that a planner counts for one unit.
fn unit_bytes(tree: &Tree) -> usize {
    let mut planner = Planner::new(&ManagerSettings::default(), 1 << 20);
    planner.add_table(0, ScopeId(1), None, &[(tree.group.shape, Hotness::default())]);
    planner.allocation().planned_bytes()
}
