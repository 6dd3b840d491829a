//! The share of the negative cache in a tree that wastes few reads.

mod common;

use springbloom_filter::UnitSettings;
use springbloom_manager::{Manager, ManagerSettings};
use springbloom_simulator::Tree;
use springbloom_simulator::managed::Managed;
use springbloom_workload::Distribution;

use common::{Popularity, lookups};

/// A 32nd of the budget is room for some 20,000 absences, which take hundreds of thousands of lookups to come. Until then no entry is one
/// too many, and those that are there say whether they pay.
#[test]
fn a_cache_that_is_not_full_stays_if_it_pays() {
    let tree = Tree::new(&[1, 1, 2, 18, 180, 1800], 8, 8388, UnitSettings::default());
    let settings = ManagerSettings { budget_bytes: (tree.keys() / 2) as usize, ..ManagerSettings::default() };
    let first_share = settings.budget_bytes / 32;
    let cache_bytes = |distribution| {
        let mut managed = Managed::new(&tree, Manager::new(settings.clone())).expect("room for every table");
        let mut lookups = lookups(Popularity::still(distribution), tree.keys(), 1);
        managed.run(&mut lookups, 300_000);
        managed.manager.stats().used.negative_cache
    };
    let (hot, even) =
        (cache_bytes(Distribution::Zipf { exponent: 0.99 }), cache_bytes(Distribution::Uniform));
    assert!(hot > first_share * 3 / 4, "hot keys: {hot} bytes of {first_share} are left");
    assert!(even < first_share / 4, "no key comes back: {even} bytes of {first_share} are left");
}

/// PebblesDB's shape: a lookup asks up to 36 sorted runs, so few lookups make many visits. Chance decides over few reads that were saved.
#[test]
fn chance_does_not_shrink_it_where_lookups_ask_many_runs() {
    let runs: Vec<u32> = [1; 24].into_iter().chain([5; 4]).chain([52; 4]).chain([436; 4]).collect();
    let tree = Tree::new(&runs, 8, 8388, UnitSettings::default());
    let settings = ManagerSettings { budget_bytes: (tree.keys() / 2) as usize, ..ManagerSettings::default() };
    let mut managed = Managed::new(&tree, Manager::new(settings.clone())).expect("room for every table");
    let still = Popularity::still(Distribution::Zipf { exponent: 0.99 });
    let mut lookups = lookups(still, tree.keys(), 1);
    let sizes: Vec<usize> = (0..12)
        .map(|_| {
            managed.run(&mut lookups, 50_000);
            managed.manager.stats().used.negative_cache
        })
        .collect();
    let first_share = settings.budget_bytes / 32;
    // One step down, on evidence, is to two thirds. Chance cut it again and again.
    assert!(sizes.iter().all(|&size| size > first_share / 2), "{sizes:?} bytes of {first_share}");
}
