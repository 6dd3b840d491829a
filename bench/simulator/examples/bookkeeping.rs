//! What bookkeeping costs in wasted reads: a whole manager with a budget of 4 bits per key, the same with its bookkeeping beside the
//! budget, and Ribbon filters by level of 4 bits, in the shape of Setting S1.
//!
//! `cargo run --release -p springbloom-simulator --example bookkeeping`: about five minutes on two cores.

use springbloom_filter::UnitSettings;
use springbloom_manager::{Manager, ManagerSettings};
use springbloom_simulator::managed::{KeyForm, Managed, settings};
use springbloom_simulator::written::{Choice, Stock, Written};
use springbloom_simulator::{Lookups, Popularity, Tree};
use springbloom_workload::{AbsentKeys, Distribution};

const BITS_PER_KEY: f64 = 4.0;
const SALTS: std::ops::RangeInclusive<u64> = 1..=3;
const LOOKUPS: usize = 400_000;

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let tree = Tree::new(&[2, 16, 204, 426], 2, 7716, UnitSettings::default());
    let zipf = |exponent| Popularity::still(Distribution::Zipf { exponent });
    let kinds = [
        ("Zipf .99", zipf(0.99)),
        ("Zipf .7", zipf(0.7)),
        ("Zipf .99, absent keys never twice", Popularity { absent: AbsentKeys::Fresh, ..zipf(0.99) }),
        ("uniform", Popularity::still(Distribution::Uniform)),
    ];
    let budget_bytes = settings(&tree, BITS_PER_KEY).budget_bytes;
    println!("wasted reads per lookup; budget {budget_bytes} bytes");
    for (name, popularity) in kinds {
        // Wasted reads, and bytes that are neither units nor known absent keys.
        let run = |salt, budget_bytes| {
            let settings = ManagerSettings { budget_bytes, ..settings(&tree, BITS_PER_KEY) };
            let mut managed =
                Managed::new(&tree, KeyForm::Decimal, Manager::new(settings)).expect("room for every table");
            let mut lookups = Lookups::new(popularity, tree.keys(), salt);
            managed.run(&mut lookups, LOOKUPS);
            let wasted = managed.run(&mut lookups, LOOKUPS).wasted_per_lookup;
            let used = managed.manager.stats().used;
            (wasted, used.bookkeeping + used.buffers)
        };
        let runs: Vec<(f64, usize)> = SALTS.map(|salt| run(salt, budget_bytes)).collect();
        let paid = median(runs.iter().map(|run| run.0));
        let free = median(SALTS.zip(&runs).map(|(salt, &(_, beside))| run(salt, budget_bytes + beside).0));
        let by_level = median(SALTS.map(|salt| {
            let mut lookups = Lookups::new(popularity, tree.keys(), salt);
            Written::new(&tree, BITS_PER_KEY, (Stock::Ribbon, Choice::RunSize), None)
                .run(&mut lookups, LOOKUPS)
        }));
        println!(
            "{name:34}  as it is {paid:.4}, bookkeeping of {} bytes beside the budget {free:.4}, Ribbon by level {by_level:.4}",
            runs[0].1
        );
    }
}
