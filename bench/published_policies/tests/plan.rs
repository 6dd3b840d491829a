//! Random tables, visits and budgets under every policy.

use proptest::prelude::*;
use springbloom_filter::{KeyDigest, UnitSettings};
use springbloom_manager::{Hotness, Outcome, Planner, ScopeId, SegmentRef, group_bytes};
use springbloom_published_policies::PolicyKind;

#[derive(Clone, Debug)]
enum Step {
    Add { table: u32, segments: usize, keys: u32, hot: bool },
    Remove { table: u32 },
    Visit { table: u32, segment: u32, outcome: Outcome, times: u8 },
    Level { table: u32, level: u8 },
    Budget { bytes: usize },
    Rebalance,
}

fn step() -> impl Strategy<Value = Step> {
    let outcome =
        prop_oneof![Just(Outcome::Rejected), Just(Outcome::WastedRead), Just(Outcome::TruePositive)];
    prop_oneof![
        1 => (0..8u32, 0..5usize, 0..3u32, any::<bool>())
            .prop_map(|(table, segments, keys, hot)| Step::Add { table, segments, keys: keys * 100, hot }),
        1 => (0..8u32).prop_map(|table| Step::Remove { table }),
        12 => (0..8u32, 0..5u32, outcome, 0..40u8)
            .prop_map(|(table, segment, outcome, times)| Step::Visit { table, segment, outcome, times }),
        1 => (0..8u32, 0..3u8).prop_map(|(table, level)| Step::Level { table, level }),
        1 => (0..8000usize).prop_map(|bytes| Step::Budget { bytes }),
        2 => Just(Step::Rebalance),
    ]
}

proptest! {
    /// Whatever happens, the plan adds up and stays under its budget.
    #[test]
    fn the_plan_adds_up(steps in prop::collection::vec(step(), 1..120), kind in 0..PolicyKind::ALL.len(), half_life in 1..500u64) {
        let shapes = [0, 100, 200].map(|keys: u32| {
            let digests: Vec<_> = (0..keys).map(|n| KeyDigest::of(&n.to_le_bytes())).collect();
            UnitSettings::bloom(4, 4).unwrap().build(&digests).shape
        });
        let mut planner = Planner::with_policy(PolicyKind::ALL[kind].policy(Some(20)), Some(half_life), 2000);
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
                Step::Level { table, level } => planner.set_level(table, Some(level)),
                Step::Budget { bytes } => planner.set_budget_bytes(bytes),
                Step::Rebalance => while planner.rebalance() || planner.fill() {},
            }
            let allocation = planner.allocation();
            let planned = |(_, state): (SegmentRef, &springbloom_manager::SegmentState)| group_bytes(state.shape, state.units());
            prop_assert_eq!(allocation.segments().iter().map(planned).sum::<usize>(), allocation.planned_bytes());
            prop_assert!(allocation.planned_bytes() <= allocation.unit_budget_bytes());
        }
    }
}
