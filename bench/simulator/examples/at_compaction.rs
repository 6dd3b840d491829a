//! Wasted reads where bits are chosen when tables are written, by run sizes or by use, and where a whole manager moves them at any time,
//! in the shape of Setting S1, while compaction rewrites tables.
//!
//! `cargo run --release -p springbloom-simulator --example at_compaction [BITS_PER_KEY [CYCLE_LOOKUPS]]`: about half an hour for all.

use springbloom_filter::UnitSettings;
use springbloom_manager::ManagerSettings;
use springbloom_simulator::managed::{KeyForm, Managed, settings};
use springbloom_simulator::written::{Choice, Stock, Written};
use springbloom_simulator::{HotRange, Lookups, Popularity, Rewriting, Tree};
use springbloom_workload::{Distribution, Movement};

const SALTS: std::ops::RangeInclusive<u64> = 1..=3;
const LOOKUPS_MIN: u64 = 400_000;
/// About the memory of the manager in this tree, and one of ten times that.
const HALF_LIVES: [f64; 2] = [20_000.0, 200_000.0];

/// Median over hot-key mappings.
fn median(of: impl FnMut(u64) -> f64) -> f64 {
    let mut values: Vec<f64> = SALTS.map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<f64>().expect("a number"));
    let all_bits = arguments.next().map_or(vec![4.0, 2.0], |bits| vec![bits]);
    // None: nothing is written after the load.
    let all_cycles = arguments.next().map_or(vec![None, Some(1_600_000), Some(320_000)], |cycle| {
        vec![(cycle > 0.0).then_some(cycle as u64)]
    });
    let tree = Tree::new(&[2, 16, 204, 426], 2, 7716, UnitSettings::default());
    let zipf = |exponent| Popularity::still(Distribution::Zipf { exponent });
    let range = |moves_every| {
        let hot_range = Some(HotRange { key_share: 0.1, lookup_share: 0.9, moves_every });
        Popularity { hot_range, ..Popularity::still(Distribution::Uniform) }
    };
    let drift =
        Popularity::moving(Distribution::Zipf { exponent: 0.99 }, Movement::Drift { period_ops: 200_000 });
    let kinds = [
        ("uniform", Popularity::still(Distribution::Uniform)),
        ("Zipf .7", zipf(0.7)),
        ("Zipf .99", zipf(0.99)),
        ("Zipf .99, drift in 200,000", drift),
        ("hot range", range(None)),
        ("moves every 400,000", range(Some(400_000))),
        ("moves every 200,000", range(Some(200_000))),
        ("moves every 50,000", range(Some(50_000))),
    ];
    println!(
        "{:26}  bits     cycle  run sizes  visits (memory {:6})  (memory {:6})  tracking, no negative cache (unit reads)  tracking",
        "wasted reads per lookup", HALF_LIVES[0], HALF_LIVES[1]
    );
    for &bits_per_key in &all_bits {
        for &cycle in &all_cycles {
            let rewriting = cycle.map(|cycle_lookups| Rewriting { cycle_lookups });
            let count = cycle.unwrap_or(0).max(LOOKUPS_MIN) as usize;
            for (name, popularity) in kinds {
                let lookups = |salt| Lookups::new(popularity, tree.keys(), salt);
                let written = |choice| {
                    median(|salt| {
                        let (mut written, mut lookups) = (
                            Written::new(&tree, bits_per_key, (Stock::Ribbon, choice), rewriting),
                            lookups(salt),
                        );
                        written.run(&mut lookups, count);
                        written.run(&mut lookups, count)
                    })
                };
                let mut unit_reads = 0.0;
                let mut tracking = |negative_cache| {
                    median(|salt| {
                        let settings = ManagerSettings { negative_cache, ..settings(&tree, bits_per_key) };
                        let mut managed =
                            Managed::new(&tree, KeyForm::Decimal, settings).expect("room for every table");
                        rewriting.into_iter().for_each(|rewriting| managed.rewrite_tables(rewriting));
                        let mut lookups = lookups(salt);
                        managed.run(&mut lookups, count);
                        let run = managed.run(&mut lookups, count);
                        unit_reads = run.unit_reads_per_lookup;
                        run.wasted_per_lookup
                    })
                };
                let by_size = written(Choice::RunSize);
                let by_visits = HALF_LIVES.map(|half_life| written(Choice::Visits { half_life }));
                let (plain, full) = (tracking(false), tracking(true));
                println!(
                    "{name:26}  {bits_per_key:4}  {:>8}  {by_size:9.4}  {:22.4}  {:15.4}  {plain:40.4}  {full:.4} ({unit_reads:.4})",
                    cycle.map_or("-".to_owned(), |cycle| cycle.to_string()),
                    by_visits[0],
                    by_visits[1],
                );
            }
        }
    }
}
