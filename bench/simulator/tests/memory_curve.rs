//! What the memory curve promises for other budgets, against runs with these budgets.

mod common;

use springbloom_filter::UnitSettings;
use springbloom_manager::{ManagerSettings, MemoryCurve};
use springbloom_published_policies::PolicyKind;
use springbloom_simulator::Tree;
use springbloom_simulator::managed::{Managed, READER_BYTES};
use springbloom_workload::Distribution;

use common::{Popularity, lookups};

const BUDGET_BYTES: usize = 1 << 20;
/// Budgets whose wasted reads are promised from what was measured under [`BUDGET_BYTES`].
const OTHERS: [usize; 5] = [2 * BUDGET_BYTES, BUDGET_BYTES / 2, BUDGET_BYTES / 4, BUDGET_BYTES / 8, 0];
/// Until the policy has learnt, and then until wasted reads are many enough to count.
const LEARNT: usize = 600_000;
const COUNTED: usize = 400_000;

/// How far a promise may be off, in addition to two standard deviations of the number of wasted reads.
const OFF_MAX: f64 = 0.15;

/// Wasted reads that were counted.
#[derive(Clone, Copy)]
struct Wasted {
    reads: u64,
    visits: u64,
}

impl Wasted {
    fn per_visit(self) -> f64 {
        self.reads as f64 / self.visits as f64
    }
}

/// Wasted reads, and what is promised for other budgets then.
fn run(tree: &Tree, distribution: Distribution, budget_bytes: usize) -> (Wasted, MemoryCurve) {
    let settings = ManagerSettings { budget_bytes, reader_bytes: READER_BYTES, ..ManagerSettings::default() };
    let mut managed =
        Managed::new(tree, PolicyKind::Benefit.manager(settings)).expect("room for every table");
    let mut lookups = lookups(Popularity::still(distribution), tree.keys(), 1);
    managed.run(&mut lookups, LEARNT);
    let before = managed.manager.outcomes();
    managed.run(&mut lookups, COUNTED);
    let after = managed.manager.outcomes();
    let reads = after.wasted_reads - before.wasted_reads;
    (Wasted { reads, visits: after.visits() - before.visits() }, managed.manager.memory_curve())
}

/// Without filters, visits for absent keys are wasted.
fn negatives(tree: &Tree, distribution: Distribution) -> Wasted {
    let lookups = lookups(Popularity::still(distribution), tree.keys(), 1).take(COUNTED);
    let mut wasted = Wasted { reads: 0, visits: 0 };
    for visit in lookups.flat_map(|lookup| tree.visits(lookup)) {
        wasted.visits += 1;
        wasted.reads += u64::from(!visit.is_there);
    }
    wasted
}

fn keeps_its_promises(distribution: Distribution) {
    // Two million keys: four bits for each.
    let tree = Tree::new(&[2, 20, 230], 4, 8388, UnitSettings::default());
    let (now, curve) = run(&tree, distribution, BUDGET_BYTES);
    let mut off = Vec::new();
    for budget_bytes in [BUDGET_BYTES].into_iter().chain(OTHERS) {
        let measured = match budget_bytes {
            BUDGET_BYTES => now,
            0 => negatives(&tree, distribution),
            other => run(&tree, distribution, other).0,
        };
        let promised = curve.wasted_reads_per_visit(budget_bytes as u64);
        let ratio = promised / measured.per_visit();
        println!(
            "{distribution:?}, {budget_bytes} B: {promised:.5} promised, {:.5} measured, {ratio:.3}",
            measured.per_visit()
        );
        if (ratio - 1.0).abs() > OFF_MAX + 2.0 / (measured.reads as f64).sqrt() {
            off.push((budget_bytes, ratio));
        }
    }
    assert!(off.is_empty(), "{distribution:?}: {off:?}");
}

#[test]
fn with_hot_keys() {
    keeps_its_promises(Distribution::Zipf { exponent: 0.99 });
}

#[test]
fn without_hot_keys() {
    keeps_its_promises(Distribution::Uniform);
}
