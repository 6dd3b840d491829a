//! The value of the manager's economies: wasted reads per lookup at 4 bits per key, and with more bytes per table and segment, or with a
//! larger negative cache or none.
//!
//! `cargo run --release -p springbloom-simulator --example what_pays`: about ten minutes on two cores.
//!
//! Two trees: Setting S1 (324 tables of two segments, 5 million keys), and 1,111 tables of 64 MiB with eight segments each. Bytes are added
//! to the charge of each open reader. They are more than any economy saves, so that the effect exceeds the noise. The effect of one byte
//! follows from it.

use springbloom_filter::UnitSettings;
use springbloom_manager::{Manager, ManagerSettings};
use springbloom_simulator::managed::{KeyForm, Managed, READER_BYTES, Run, settings};
use springbloom_simulator::{Lookups, Popularity, Tree};
use springbloom_workload::Distribution;

const BITS_PER_KEY: f64 = 4.0;
const SALTS: std::ops::RangeInclusive<u64> = 1..=4;

struct Setting {
    name: &'static str,
    tree: Tree,
    warm_up: usize,
    lookups: usize,
}

#[derive(Clone, Copy)]
struct Variant {
    /// Bytes charged for each table beside its reader.
    extra_table_bytes: usize,
    form: KeyForm,
    negative_cache: bool,
}

const AS_IT_IS: Variant = Variant { extra_table_bytes: 0, form: KeyForm::Decimal, negative_cache: true };

/// Medians over hot-key mappings.
fn measure(setting: &Setting, variant: Variant) -> Run {
    let tree = &setting.tree;
    let popularity = Popularity::still(Distribution::Zipf { exponent: 0.99 });
    let mut runs: Vec<Run> = SALTS
        .map(|salt| {
            let settings = ManagerSettings {
                reader_bytes: READER_BYTES + variant.extra_table_bytes,
                negative_cache: variant.negative_cache,
                ..settings(tree, BITS_PER_KEY)
            };
            let mut managed =
                Managed::new(tree, variant.form, Manager::new(settings)).expect("room for every table");
            let mut lookups = Lookups::new(popularity, tree.keys(), salt);
            managed.run(&mut lookups, setting.warm_up);
            managed.run(&mut lookups, setting.lookups)
        })
        .collect();
    runs.sort_by(|a, b| a.wasted_per_lookup.total_cmp(&b.wasted_per_lookup));
    let middle = runs.len() / 2;
    let mean = |of: fn(&Run) -> f64| (of(&runs[middle - 1]) + of(&runs[middle])) / 2.0;
    Run {
        wasted_per_lookup: mean(|run| run.wasted_per_lookup),
        unit_reads_per_lookup: mean(|run| run.unit_reads_per_lookup),
    }
}

fn main() {
    let units = UnitSettings::default();
    let settings = [
        Setting {
            name: "S1",
            tree: Tree::new(&[2, 16, 204, 426], 2, 7716, units),
            warm_up: 300_000,
            lookups: 1_000_000,
        },
        Setting {
            name: "64 MiB tables",
            tree: Tree::new(&[8, 80, 800, 8000], 8, 8192, units),
            warm_up: 2_000_000,
            lookups: 2_000_000,
        },
    ];
    for setting in settings {
        let segments = setting.tree.table_segments as usize;
        let base = measure(&setting, AS_IT_IS);
        let show = |what: &str, run: Run| {
            println!(
                "{:13}  {what:34}  {:.5} wasted reads per lookup ({:+.2}%), {:.5} reads of units",
                setting.name,
                run.wasted_per_lookup,
                100.0 * (run.wasted_per_lookup / base.wasted_per_lookup - 1.0),
                run.unit_reads_per_lookup,
            );
        };
        show("as it is", base);
        for segment_bytes in [32, 64, 128] {
            let extra_table_bytes = segments * segment_bytes;
            let run = measure(&setting, Variant { extra_table_bytes, ..AS_IT_IS });
            show(&format!("{segment_bytes} B more for each segment"), run);
        }
        for form in [KeyForm::Letters, KeyForm::Uuid, KeyForm::Url, KeyForm::Base32, KeyForm::Binary] {
            show(&format!("keys in the form {form:?}"), measure(&setting, Variant { form, ..AS_IT_IS }));
        }
        show("no known absences", measure(&setting, Variant { negative_cache: false, ..AS_IT_IS }));
    }
}
