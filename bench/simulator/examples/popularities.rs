//! Wasted reads of a whole manager under several kinds of popularity, in the shape of Setting S1.
//!
//! `cargo run --release -p springbloom-simulator --example popularities`: about five minutes on two cores.

use springbloom_filter::UnitSettings;
use springbloom_manager::ManagerSettings;
use springbloom_simulator::managed::{KeyForm, Managed, settings};
use springbloom_simulator::{HotRange, Lookups, Popularity, Tree};
use springbloom_workload::Distribution;

const SALTS: std::ops::RangeInclusive<u64> = 1..=3;
const WARM_UP: usize = 400_000;
const LOOKUPS: usize = 400_000;

fn main() {
    let tree = Tree::new(&[2, 16, 204, 426], 2, 7716, UnitSettings::default());
    let zipf = |exponent| Popularity::still(Distribution::Zipf { exponent });
    let range = |moves_every| Some(HotRange { key_share: 0.1, lookup_share: 0.9, moves_every });
    let kinds = [
        ("uniform", Popularity::still(Distribution::Uniform)),
        ("Zipf .7", zipf(0.7)),
        ("Zipf .99", zipf(0.99)),
        ("Zipf 1.2", zipf(1.2)),
        ("hot range", Popularity { hot_range: range(None), ..Popularity::still(Distribution::Uniform) }),
        ("hot range, Zipf .99", Popularity { hot_range: range(None), ..zipf(0.99) }),
        (
            "moves every 200,000",
            Popularity { hot_range: range(Some(200_000)), ..Popularity::still(Distribution::Uniform) },
        ),
        (
            "moves every 50,000",
            Popularity { hot_range: range(Some(50_000)), ..Popularity::still(Distribution::Uniform) },
        ),
    ];
    for (bits_per_key, negative_cache) in [(4.0, true), (4.0, false), (2.0, true)] {
        for (name, popularity) in kinds {
            let mut runs: Vec<_> = SALTS
                .map(|salt| {
                    let settings = ManagerSettings { negative_cache, ..settings(&tree, bits_per_key) };
                    let mut managed =
                        Managed::new(&tree, KeyForm::Decimal, settings).expect("room for every table");
                    let mut lookups = Lookups::new(popularity, tree.keys(), salt);
                    managed.run(&mut lookups, WARM_UP);
                    managed.run(&mut lookups, LOOKUPS)
                })
                .collect();
            runs.sort_by(|a, b| a.wasted_per_lookup.total_cmp(&b.wasted_per_lookup));
            let (least, median, most) = (&runs[0], &runs[runs.len() / 2], &runs[runs.len() - 1]);
            println!(
                "{name:20}  {bits_per_key} bits, negative cache {negative_cache:5}  {:.4} ({:.4}-{:.4}) wasted reads per lookup, {:.5} \
                 reads of units",
                median.wasted_per_lookup,
                least.wasted_per_lookup,
                most.wasted_per_lookup,
                median.unit_reads_per_lookup,
            );
        }
    }
}
