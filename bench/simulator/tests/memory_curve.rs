//! What the memory curve promises for other budgets, against runs with these budgets.

use springbloom_filter::UnitSettings;
use springbloom_manager::{ManagerSettings, MemoryCurve};
use springbloom_policies::PolicyKind;
use springbloom_simulator::managed::{KeyForm, Managed, READER_BYTES};
use springbloom_simulator::{Lookups, Popularity, Tree};
use springbloom_workload::Distribution;

const BUDGET_BYTES: usize = 1 << 20;
/// Budgets whose wasted reads are promised from what was measured under [`BUDGET_BYTES`].
const OTHERS: [usize; 5] = [2 * BUDGET_BYTES, BUDGET_BYTES / 2, BUDGET_BYTES / 4, BUDGET_BYTES / 8, 0];
/// Until the policy has learnt, and then until wasted reads are many enough to count.
const LEARNT: usize = 600_000;
const COUNTED: usize = 400_000;

/// Wasted reads per visit, and what is promised for other budgets then.
fn run(tree: &Tree, distribution: Distribution, budget_bytes: usize, remembers: bool) -> (f64, MemoryCurve) {
    let settings = ManagerSettings {
        budget_bytes,
        reader_bytes: READER_BYTES,
        negative_cache: remembers,
        ..ManagerSettings::default()
    };
    let mut managed = Managed::new(tree, KeyForm::Decimal, PolicyKind::Benefit.manager(settings))
        .expect("room for every table");
    let mut lookups = Lookups::new(Popularity::still(distribution), tree.keys(), 1);
    managed.run(&mut lookups, LEARNT);
    let before = managed.manager.outcomes();
    managed.run(&mut lookups, COUNTED);
    let after = managed.manager.outcomes();
    let wasted = after.wasted_reads - before.wasted_reads;
    (wasted as f64 / (after.visits() - before.visits()) as f64, managed.manager.memory_curve())
}

/// Share of the visits that are for absent keys: what is wasted without filters.
fn negatives(tree: &Tree, distribution: Distribution) -> f64 {
    let lookups = Lookups::new(Popularity::still(distribution), tree.keys(), 1).take(COUNTED);
    let (mut visits, mut negatives) = (0u32, 0u32);
    for visit in lookups.flat_map(|lookup| tree.visits(lookup)) {
        visits += 1;
        negatives += u32::from(!visit.is_there);
    }
    f64::from(negatives) / f64::from(visits)
}

fn keeps_its_promises(distribution: Distribution) {
    // Two million keys: four bits for each.
    let tree = Tree::new(&[2, 20, 230], 4, 8388, UnitSettings::default());
    for remembers in [true, false] {
        let (now, curve) = run(&tree, distribution, BUDGET_BYTES, remembers);
        let mut off = Vec::new();
        for budget_bytes in [BUDGET_BYTES].into_iter().chain(OTHERS) {
            let measured = match budget_bytes {
                BUDGET_BYTES => now,
                0 => negatives(&tree, distribution),
                other => run(&tree, distribution, other, remembers).0,
            };
            let promised = curve.wasted_reads_per_visit(budget_bytes as u64);
            let ratio = promised / measured;
            println!(
                "{distribution:?}, negative cache {remembers}, {budget_bytes} B: \
                 {promised:.5} promised, {measured:.5} measured, {ratio:.3}"
            );
            if !(0.85..1.15).contains(&ratio) {
                off.push((budget_bytes, ratio));
            }
        }
        assert!(off.is_empty(), "{distribution:?}, negative cache {remembers}: {off:?}");
    }
}

#[test]
fn with_hot_keys() {
    keeps_its_promises(Distribution::Zipf { exponent: 0.99 });
}

#[test]
fn without_hot_keys() {
    keeps_its_promises(Distribution::Uniform);
}
