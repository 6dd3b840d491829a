//! The policies of the store over synthetic lookups, against the best allocation with foreknowledge.

#[path = "../common/mod.rs"]
mod common;
mod planned;

use springbloom_filter::UnitSettings;
use springbloom_published_policies::PolicyKind;
use springbloom_simulator::{Lookups, Tree};
use springbloom_workload::{Distribution, Mix, Movement};

use common::{Popularity, lookups};
use planned::{Planned, Run};

const ZIPF: Distribution = Distribution::Zipf { exponent: 0.99 };

const STILL: [(&str, Popularity); 6] = [
    ("uniform", Popularity::still(Distribution::Uniform)),
    ("zipf .6", Popularity::still(Distribution::Zipf { exponent: 0.6 })),
    ("zipf .99", Popularity::still(ZIPF)),
    ("zipf 1.2", Popularity::still(Distribution::Zipf { exponent: 1.2 })),
    ("zipf 1.4", Popularity::still(Distribution::Zipf { exponent: 1.4 })),
    // Of ten ranges one has nine tenths of the lookups.
    ("hot range", Popularity::still(Distribution::Ranges { range_records: 56_000, exponent: 3.8 })),
];

const MOVING: [(&str, Popularity); 4] = [
    ("latest", Popularity { mix: Mix::D, ..Popularity::still(Distribution::Latest { exponent: 0.99 }) }),
    ("jumping", Popularity::moving(ZIPF, Movement::Jump { period_ops: 25_000 })),
    (
        "drifting",
        Popularity::moving(Distribution::Zipf { exponent: 1.2 }, Movement::Drift { period_ops: 25_000 }),
    ),
    (
        "jumping fast",
        Popularity::moving(Distribution::Zipf { exponent: 1.2 }, Movement::Jump { period_ops: 5000 }),
    ),
];

/// A tenth of the tree of Setting S1, with segments of 4,096 keys and the paper's units.
fn small() -> Tree {
    Tree::new(&[1, 4, 44, 88], 4, 4096, UnitSettings::bloom(6, 4).unwrap())
}

/// Measures `count` lookups after half as many.
fn run(tree: &Tree, policy: PolicyKind, bits: f64, mut lookups: Lookups, count: usize) -> Run {
    let mut planned = Planned::new(tree, policy.policy(None), bits);
    planned.look_up(lookups.by_ref().take(count / 2));
    planned.measure(&mut lookups, count)
}

#[test]
fn benefit_is_near_the_optimum_and_never_worse_than_uniform() {
    let tree = small();
    for (name, popularity) in STILL.into_iter().chain(MOVING) {
        for bits in [2.0, 4.0] {
            let of = |policy| run(&tree, policy, bits, lookups(popularity, tree.keys(), 7), 100_000);
            let (uniform, benefit) = (of(PolicyKind::Uniform).wasted_per_lookup, of(PolicyKind::Benefit));
            let Run { wasted_per_lookup: wasted, optimum, loads } = benefit;
            let cost = wasted + loads as f64 / 1e5;
            println!(
                "{name}, {bits} bits: uniform {uniform:.4}, benefit {wasted:.4} of {optimum:.4}, with loads {cost:.4}"
            );
            assert!(cost <= 1.02 * uniform, "{name}, {bits} bits: {cost} against {uniform}");
            // No allocation that stays is the best one where the hot set moves.
            let stays = STILL.iter().any(|(still, _)| *still == name);
            assert!(
                !stays || wasted <= 1.1 * optimum,
                "{name}, {bits} bits: {wasted} where {optimum} can be"
            );
        }
    }
}

#[test]
fn policies_stand_in_the_order_that_the_papers_promise() {
    let tree = small();
    for hot_key_seed in [1, 2] {
        let lookups = || lookups(Popularity::still(ZIPF), tree.keys(), hot_key_seed);
        let all = PolicyKind::ALL.map(|policy| run(&tree, policy, 4.0, lookups(), 100_000).wasted_per_lookup);
        let [uniform, monkey, multi_queue, benefit] = all;
        assert!(monkey < 0.7 * uniform, "{all:?}");
        assert!(multi_queue < 0.65 * uniform, "{all:?}");
        assert!(benefit < multi_queue && benefit < monkey, "{all:?}");
    }
}

#[test]
fn benefit_follows_a_hot_set_that_moved() {
    const WINDOW: usize = 5000;
    let tree = small();
    let mut planned = Planned::new(&tree, PolicyKind::Benefit.policy(None), 4.0);
    let lookups = |hot_key_seed| lookups(Popularity::still(ZIPF), tree.keys(), hot_key_seed);
    planned.look_up(lookups(1).take(100_000));
    let mut moved = lookups(2);
    let windows = (0..200).position(|_| {
        let Run { wasted_per_lookup, optimum, .. } = planned.measure(&mut moved, WINDOW);
        wasted_per_lookup <= optimum * 1.1
    });
    assert!(windows.is_some_and(|windows| windows * WINDOW <= 40_000), "{windows:?} windows of {WINDOW}");
}

#[test]
fn equal_visits_give_equal_decisions() {
    let tree = small();
    for policy in PolicyKind::ALL {
        let units = || -> Vec<u8> {
            let mut planned = Planned::new(&tree, policy.policy(None), 2.8);
            planned.look_up(lookups(Popularity::still(ZIPF), tree.keys(), 3).take(20_000));
            let places =
                (0..tree.tables().sum()).flat_map(|table| (0..4).map(move |segment| (table, segment)));
            places.map(|(table, segment)| planned.planner.units(table, segment)).collect()
        };
        assert_eq!(units(), units(), "{policy}");
    }
}
