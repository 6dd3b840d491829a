//! A planner alone over the lookups of a tree: no bookkeeping, no negative cache, instant loads. A unit has a fixed set of false positives,
//! as real units do: a hot absent key that passes a unit always passes it.

use springbloom_manager::{Hotness, ManagerSettings, Outcome, Planner, Policy, ScopeId};
use springbloom_workload::hash::{mix, unit_interval};

use crate::{FamilyRun, Lookup, Lookups, Tree};

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Wasted reads per lookup.
    pub wasted_per_lookup: f64,
    /// Units loaded during the measurement.
    pub loads: u64,
    /// Wasted reads per lookup of the best fixed allocation, from the true number of lookups of absent keys per segment and analytic rates.
    pub optimum: f64,
}

/// A planner with the tables of a tree.
pub struct Planned<'a> {
    tree: &'a Tree,
    /// False positive rates of 0, 1, 2, ... units.
    fpr: Vec<f64>,
    budget_units: usize,
    /// Of the last measurement, under the best fixed allocation.
    pub families: Vec<FamilyRun>,
    /// The planner, as in the store.
    pub planner: Planner,
}

impl<'a> Planned<'a> {
    /// A planner with all tables of `tree`. Its budget is that of `bits` bits per key, in whole units.
    pub fn new(tree: &'a Tree, policy: Box<dyn Policy>, bits: f64) -> Self {
        let shape = tree.group.shape;
        let budget_units = (tree.keys() as f64 * bits / 8.0 / shape.unit_bytes() as f64) as usize;
        let budget_bytes = budget_units * unit_bytes(tree);
        let mut planner = Planner::with_policy(policy, None, budget_bytes);
        let levels = (0..tree.levels.len())
            .flat_map(|level| tree.segments_by_table(level).map(move |segments| (level, segments)));
        for (table, (level, segments)) in (0..).zip(levels) {
            let segments = vec![(shape, Hotness::default()); segments as usize];
            let (family, family_level) = tree.family_of(level);
            planner.add_table(table, ScopeId(family as u64 + 1), Some(family_level as u8 + 1), &segments);
        }
        while planner.rebalance() {}
        let fpr = (0..=shape.unit_count()).map(|units| shape.false_positive_rate(units)).collect();
        Self { tree, fpr, budget_units, families: Vec::new(), planner }
    }

    /// Performs a lookup and returns its wasted reads. `note` receives the level and segment of each visit that does not find the key.
    pub fn look_up(&mut self, lookup: Lookup, mut note: impl FnMut(usize, u32)) -> u32 {
        let (tree, key, mut wasted) = (self.tree, lookup.key, 0);
        for visit in tree.visits(lookup) {
            let (table, inner) = tree.place(visit.level, visit.segment);
            let outcome = if visit.is_there {
                Outcome::TruePositive
            } else {
                note(visit.level, visit.segment);
                self.outcome(visit.level, key, self.planner.units(table, inner))
            };
            wasted += u32::from(outcome == Outcome::WastedRead);
            self.planner.visit(table, inner, outcome);
        }
        wasted
    }

    /// Performs `count` lookups without measuring.
    pub fn warm_up(&mut self, lookups: &mut Lookups, count: usize) {
        for lookup in lookups.take(count) {
            self.look_up(lookup, |_, _| ());
        }
    }

    /// Performs `count` lookups.
    pub fn measure(&mut self, lookups: &mut Lookups, count: usize) -> Run {
        let levels = &self.tree.levels;
        let mut negatives: Vec<Vec<u64>> =
            levels.iter().map(|&segments| vec![0; segments as usize]).collect();
        let (loads, mut wasted) = (self.planner.allocation().admitted_units(), 0u64);
        self.families = FamilyRun::none(self.tree.families);
        for lookup in lookups.take(count) {
            self.families[lookup.family].lookups += 1;
            wasted +=
                u64::from(self.look_up(lookup, |level, segment| negatives[level][segment as usize] += 1));
        }
        self.allot(&negatives);
        Run {
            wasted_per_lookup: wasted as f64 / count as f64,
            loads: self.planner.allocation().admitted_units() - loads,
            optimum: FamilyRun::wasted_per_lookup(&self.families),
        }
    }

    /// The outcome of a visit for an absent key, with the first `units` units of the segment.
    fn outcome(&self, level: usize, key: u64, units: u8) -> Outcome {
        let rejecting = (0..units).find(|&unit| {
            let salt = mix((level as u64) << 8 | u64::from(unit));
            unit_interval(key.wrapping_mul(31) ^ salt) >= self.fpr[1]
        });
        match rejecting {
            None => Outcome::WastedRead,
            Some(unit) if unit + 1 == units => Outcome::RejectedByLast,
            Some(_) => Outcome::Rejected,
        }
    }

    /// Greedy by the savings of each unit, which is optimal for units of one size.
    fn allot(&mut self, negatives: &[Vec<u64>]) {
        let mut savings = Vec::new();
        for (level, counts) in negatives.iter().enumerate() {
            let family = self.tree.family_of(level).0;
            for &count in counts {
                self.families[family].wasted_reads += count as f64;
                let rates = self.fpr.windows(2);
                savings.extend(rates.map(|rates| (count as f64 * (rates[0] - rates[1]), family)));
            }
        }
        savings.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let unit_bits = self.tree.group.shape.unit_bytes() as f64 * 8.0;
        for (saved, family) in savings.into_iter().take(self.budget_units) {
            self.families[family].wasted_reads -= saved;
            self.families[family].resident_bits_per_key += unit_bits / self.tree.family_keys() as f64;
        }
    }
}

/// Bytes that a planner counts for one unit.
fn unit_bytes(tree: &Tree) -> usize {
    let mut planner = Planner::new(&ManagerSettings::default(), 1 << 20);
    planner.add_table(0, ScopeId(1), None, &[(tree.group.shape, Hotness::default())]);
    planner.allocation().planned_bytes()
}
