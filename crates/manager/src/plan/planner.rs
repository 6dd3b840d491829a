//! The planner: an allocation and the policy that decides it, without memory for units and without reads.
//!
//! Public, so that a simulator can run a policy over any sequence of visits without units, threads or files. The store runs the same code.
//! Deterministic: equal calls give equal decisions.

use springbloom_filter::GroupShape;

use crate::memory::list_bytes;
use crate::names::{ScopeId, SegmentRef};
use crate::plan::allocation::Allocation;
use crate::plan::policy::{Benefit, Policy};
use crate::plan::{Hotness, Run};
use crate::settings::ManagerSettings;
use crate::visits::{Outcome, Visit};

/// Decides how many units each segment should have.
pub struct Planner {
    pub(crate) allocation: Allocation,
    pub(crate) policy: Box<dyn Policy>,
}

impl Planner {
    /// A planner without tables, with the policy [`Benefit`] and `unit_budget_bytes` for units.
    pub fn new(settings: &ManagerSettings, unit_budget_bytes: usize) -> Self {
        Self::with_policy(Box::new(Benefit::default()), settings.half_life_visits, unit_budget_bytes)
    }

    /// A planner with a policy of the caller's.
    pub fn with_policy(policy: Box<dyn Policy>, half_life: Option<u64>, unit_budget_bytes: usize) -> Self {
        let mut allocation = Allocation::new(half_life);
        allocation.set_unit_budget_bytes(unit_budget_bytes);
        Self { allocation, policy }
    }

    /// Adds a table with these segments, and lets the policy give them units. `table` is a small number that is not in use.
    pub fn add_table(
        &mut self,
        table: u32,
        scope: ScopeId,
        level: Option<u8>,
        segments: &[(GroupShape, Hotness)],
    ) {
        self.insert_table(table, scope, level, segments);
        for segment in self.placement_order(table) {
            self.policy.place(segment, &mut self.allocation);
            self.carry_out();
        }
    }

    /// Removes a table.
    pub fn remove_table(&mut self, table: u32) {
        self.policy.remove_table(table, &self.allocation);
        self.allocation.remove_table(table);
    }

    /// Notes that a table moved to another level without being rewritten.
    pub fn set_level(&mut self, table: u32, level: Option<u8>) {
        self.allocation.set_level(table, level);
        self.policy.on_level_changed();
    }

    /// Records a visit of a lookup to a segment. Ignores a segment that is not known.
    pub fn visit(&mut self, table: u32, segment: u32, outcome: Outcome) {
        self.record(Visit { segment: SegmentRef { table, segment }, outcome, sample_weight: 1 });
        self.carry_out();
    }

    /// Lets the policy do a piece of work that belongs to no visit. Returns `false` if there was none.
    pub fn rebalance(&mut self) -> bool {
        let worked = self.policy.rebalance(&mut self.allocation);
        self.carry_out();
        worked
    }

    /// Lets the policy give free bytes to units that nothing was measured of. Returns `false` if there was nothing to do.
    pub fn fill(&mut self) -> bool {
        let worked = self.policy.fill(&mut self.allocation);
        self.carry_out();
        worked
    }

    /// Sets the budget for units and evicts until they fit.
    pub fn set_budget_bytes(&mut self, budget_bytes: usize) {
        self.allocation.set_unit_budget_bytes(budget_bytes);
        while self.shrink_step() {
            self.carry_out();
        }
    }

    /// Units allocated to a segment; 0 for an unknown one.
    pub fn units(&self, table: u32, segment: u32) -> u8 {
        self.allocation.segments().get(SegmentRef { table, segment }).map_or(0, |state| state.units())
    }

    /// What is allocated, and the measured use behind it.
    pub fn allocation(&self) -> &Allocation {
        &self.allocation
    }

    pub(crate) fn insert_table(
        &mut self,
        table: u32,
        scope: ScopeId,
        level: Option<u8>,
        segments: &[(GroupShape, Hotness)],
    ) {
        self.allocation.add_table(table, Run { scope, level }, segments.iter().copied());
        self.policy.add_table(table, &mut self.allocation);
    }

    /// Segments of a new table, those with the most inherited use first.
    pub(crate) fn placement_order(&self, table: u32) -> Vec<SegmentRef> {
        let states = self.allocation.segments().table(table);
        let mut order: Vec<u32> = (0..states.len() as u32).collect();
        let negatives = |segment: u32| states[segment as usize].hotness().negatives;
        order.sort_by(|&a, &b| negatives(b).total_cmp(&negatives(a)));
        order.into_iter().map(|segment| SegmentRef { table, segment }).collect()
    }

    /// Gives a segment of a new table `units` units from free bytes. If there are too few, the policy decides.
    pub(crate) fn place_units(&mut self, segment: SegmentRef, units: u8) {
        let has = |allocation: &Allocation| allocation.segments()[segment].units();
        while has(&self.allocation) < units && self.allocation.admit(segment) {}
        self.policy.on_units_changed(segment, &self.allocation);
        if has(&self.allocation) < units {
            self.policy.place(segment, &mut self.allocation);
        }
    }

    pub(crate) fn record(&mut self, visit: Visit) {
        if self.allocation.segments().get(visit.segment).is_none() {
            return;
        }
        let Visit { segment, outcome, sample_weight } = visit;
        self.allocation.runs.count_visits(segment.table, outcome, sample_weight.into());
        if let Some(factor) = self.allocation.record(visit) {
            self.policy.on_rescale(factor);
        }
        self.policy.on_visit(visit, &mut self.allocation);
    }

    /// Evicts a unit if the plan is over the budget for units. Returns `false` if it is not, or nothing is left to evict.
    pub(crate) fn shrink_step(&mut self) -> bool {
        self.allocation.planned_bytes() > self.allocation.unit_budget_bytes()
            && (self.policy.rebalance(&mut self.allocation) || self.policy.evict_one(&mut self.allocation))
    }

    /// From now on, at most `units_max` units of the segment can be loaded.
    pub(crate) fn cap_units(&mut self, segment: SegmentRef, units_max: u8) {
        self.allocation.cap_units(segment, units_max);
        self.policy.on_units_changed(segment, &self.allocation);
    }

    /// All units of the segment can be loaded again. `false` if they could be before.
    pub(crate) fn uncap_units(&mut self, segment: SegmentRef) -> bool {
        let was_capped = self.allocation.uncap_units(segment);
        if was_capped {
            self.policy.on_units_changed(segment, &self.allocation);
            self.policy.place(segment, &mut self.allocation);
        }
        was_capped
    }

    /// Lowers the segment's units to `units`. The policy decides again after `backoff_visits` visits.
    pub(crate) fn withdraw(&mut self, segment: SegmentRef, units: u8, backoff_visits: u64) {
        while self.allocation.segments()[segment].units() > units {
            self.allocation.evict(segment);
        }
        self.allocation.set_backoff(segment.table, backoff_visits);
        self.policy.on_units_changed(segment, &self.allocation);
    }

    /// Bytes of the plan's state for a table of that many segments.
    pub(crate) fn table_bytes(&self, segments: usize) -> usize {
        Allocation::table_bytes(segments) + self.policy.table_bytes(segments)
    }

    /// Bytes of the plan's lists for this number of segments.
    pub(crate) fn list_bytes(&self, segments: usize) -> usize {
        let changed = segments.min(self.policy.changes_max());
        self.policy.list_bytes(segments) + list_bytes::<SegmentRef>(changed)
    }

    /// Without a registry, the plan counts as carried out at once.
    fn carry_out(&mut self) {
        while self.allocation.take_changed().is_some() {}
    }

    #[cfg(test)]
    pub(crate) fn assert_consistent(&self) {
        let planned = self.allocation.segments().iter();
        let bytes: usize =
            planned.map(|(_, state)| crate::memory::group_bytes(state.shape, state.units())).sum();
        assert_eq!(bytes, self.allocation.planned_bytes());
        self.policy.assert_consistent(&self.allocation);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use springbloom_filter::{KeyDigest, UnitSettings};

    use super::*;

    fn shape(keys: u32) -> GroupShape {
        let digests: Vec<_> = (0..keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        UnitSettings::bloom(4, 4).unwrap().build(&digests).shape
    }

    /// While all units are resident, a visit passes them once in many thousands, and a sample may stand for many visits.
    #[test]
    #[cfg_attr(
        sanitized,
        ignore = "the thread sanitizer's allocator rounds groups so that nine units take as much as sixteen"
    )]
    fn one_visit_that_passed_all_units_decides_nothing_when_the_budget_falls() {
        const SEGMENTS: usize = 4;
        let digests: Vec<_> = (0..8192u32).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
        let shape = UnitSettings::ribbon(16).unwrap().build(&digests).shape;
        let bytes = |units| crate::memory::group_bytes(shape, units) * SEGMENTS;
        for sample_weight in [1, 64] {
            let mut planner = Planner::new(&ManagerSettings::default(), bytes(17));
            planner.add_table(0, ScopeId(1), Some(1), &[(shape, Hotness::default()); SEGMENTS]);
            while planner.fill() {}
            let units = |planner: &Planner| [0, 1, 2, 3].map(|segment| planner.units(0, segment));
            assert_eq!(units(&planner), [16; SEGMENTS]);
            let visit = |segment, outcome, sample_weight| Visit {
                segment: SegmentRef { table: 0, segment },
                outcome,
                sample_weight,
            };
            for _ in 0..1000 {
                (0..4).for_each(|segment| planner.record(visit(segment, Outcome::Rejected, sample_weight)));
            }
            planner.record(visit(2, Outcome::WastedRead, sample_weight));
            planner.set_budget_bytes(bytes(4));
            let units = units(&planner);
            assert!(units.iter().all(|units| (3..=6).contains(units)), "{units:?} by {sample_weight}");
        }
    }

    /// Where lookups come too fast, few are recorded, and each stands for many.
    #[test]
    fn a_sample_counts_for_the_backoff_as_the_visits_that_it_stands_for() {
        let mut planner = Planner::new(&ManagerSettings::default(), 1 << 20);
        planner.add_table(0, ScopeId(1), Some(1), &[(shape(1000), Hotness::default())]);
        let segment = SegmentRef { table: 0, segment: 0 };
        planner.withdraw(segment, 0, 4096);
        let mut wasted = |visits| {
            (0..visits).for_each(|_| {
                planner.record(Visit { segment, outcome: Outcome::WastedRead, sample_weight: 512 });
            });
            planner.units(0, 0)
        };
        assert_eq!(wasted(7), 0, "3,584 visits");
        assert!(wasted(2) > 0, "4,608 visits");
    }

    #[test]
    fn visits_that_were_not_to_read_teach_as_wasted_reads_do() {
        let units_after = |outcome| {
            let mut planner = Planner::new(&ManagerSettings::default(), 2000);
            planner.add_table(0, ScopeId(1), Some(1), &[(shape(1000), Hotness::default()); 8]);
            (0..1000).for_each(|visit| planner.visit(0, if visit % 8 == 0 { 5 } else { 3 }, outcome));
            [0, 1, 2, 3, 4, 5, 6, 7].map(|segment| planner.units(0, segment))
        };
        let taught = units_after(Outcome::NotRead);
        assert_eq!(taught, units_after(Outcome::WastedRead));
        assert_ne!(taught, units_after(Outcome::TruePositive));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Add { table: u32, segments: usize, keys: u32, hot: bool },
        Remove { table: u32 },
        Visit { table: u32, segment: u32, outcome: Outcome, times: u8 },
        Budget { bytes: usize },
        Cap { table: u32, segment: u32, units: u8 },
        Uncap { table: u32, segment: u32 },
        Rebalance,
    }

    fn step() -> impl Strategy<Value = Step> {
        let outcome = prop_oneof![
            Just(Outcome::Rejected),
            Just(Outcome::WastedRead),
            Just(Outcome::TruePositive),
            Just(Outcome::NotRead)
        ];
        prop_oneof![
            1 => (0..8u32, 0..5usize, 0..3u32, any::<bool>())
                .prop_map(|(table, segments, keys, hot)| Step::Add { table, segments, keys: keys * 100, hot }),
            1 => (0..8u32).prop_map(|table| Step::Remove { table }),
            12 => (0..8u32, 0..5u32, outcome, 0..40u8)
                .prop_map(|(table, segment, outcome, times)| Step::Visit { table, segment, outcome, times }),
            1 => (0..8000usize).prop_map(|bytes| Step::Budget { bytes }),
            1 => (0..8u32, 0..5u32, 0..4u8).prop_map(|(table, segment, units)| Step::Cap { table, segment, units }),
            1 => (0..8u32, 0..5u32).prop_map(|(table, segment)| Step::Uncap { table, segment }),
            2 => Just(Step::Rebalance),
        ]
    }

    proptest! {
        /// Whatever happens, the plan adds up, stays under its budget, and the policy's lists agree with it.
        #[test]
        fn the_plan_adds_up(steps in prop::collection::vec(step(), 1..120), half_life in 1..500u64) {
            let shapes = [shape(0), shape(100), shape(200)];
            let mut planner = Planner::new(&ManagerSettings {
                half_life_visits: Some(half_life),
                ..ManagerSettings::default()
            }, 2000);
            let mut known = [false; 8];
            for step in steps {
                match step {
                    Step::Add { table, segments, keys, hot } => {
                        if !std::mem::replace(&mut known[table as usize], true) {
                            let negatives = f32::from(u8::from(hot)) * 10.0;
                            let hotness = Hotness { access_count: negatives, negatives, wasted_reads: negatives };
                            let segments = vec![(shapes[keys as usize / 100], hotness); segments];
                            planner.add_table(table, ScopeId(1), (table % 3).checked_sub(1).map(|l| l as u8), &segments);
                        }
                    }
                    Step::Remove { table } => {
                        if std::mem::take(&mut known[table as usize]) {
                            planner.remove_table(table);
                        }
                    }
                    Step::Visit { table, segment, outcome, times } => {
                        (0..times).for_each(|_| planner.visit(table, segment, outcome));
                    }
                    Step::Budget { bytes } => planner.set_budget_bytes(bytes),
                    Step::Cap { table, segment, units } => {
                        let segment = SegmentRef { table, segment };
                        if planner.allocation.segments().get(segment).is_some() {
                            planner.cap_units(segment, units);
                            planner.carry_out();
                            prop_assert!(planner.units(table, segment.segment) <= units);
                        }
                    }
                    Step::Uncap { table, segment } => {
                        let segment = SegmentRef { table, segment };
                        if planner.allocation.segments().get(segment).is_some() {
                            let units_max = planner.allocation.segments()[segment].units_max();
                            prop_assert_eq!(planner.uncap_units(segment), units_max < shapes[0].unit_count());
                            planner.carry_out();
                        }
                    }
                    Step::Rebalance => while planner.rebalance() || planner.fill() {},
                }
                planner.assert_consistent();
                prop_assert!(planner.allocation.planned_bytes() <= planner.allocation.unit_budget_bytes());
            }
        }
    }
}
