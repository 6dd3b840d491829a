//! Policies and stock filters over modelled trees, without a store.

use super::{Line, lines};
use crate::experiment::Experiment;
use crate::run::Run;

const WASTED: &[&str] = &["wasted_reads_per_get"];
/// The tree of Setting S1: its sorted runs, tables and segments.
const SETTING_S1: &str = "--runs 15802368,126418944,1611841536,3365904384 --record-bytes 1024 --table-bytes 15802368 \
                          --segment-data-bytes 7901184 --segments 700";

pub(super) fn experiments() -> Vec<Experiment> {
    vec![
        lines(
            "simulated-popularity",
            "by popularity, simulated",
            "wasted reads in a model of Setting S1 without compaction, by what is looked up",
            WASTED,
            by_popularity(),
        ),
        lines(
            "at-compaction",
            "bits that are chosen when tables are written",
            "wasted reads in a model of Setting S1 while compaction rewrites tables",
            WASTED,
            at_compaction(),
        ),
        lines(
            "simulated-trees",
            "large trees",
            "wasted reads in models of large trees, 4 bits per key",
            WASTED,
            trees(),
        ),
        lines(
            "simulated-large-values",
            "large values, simulated",
            "wasted reads of 10^9 records in tables of 64 MiB, by the size of a record",
            WASTED,
            large_values(),
        ),
    ]
}

fn by_popularity() -> Vec<Line> {
    let line = |label, name: &str, lookups: &str| {
        let both = format!(
            "simulate {SETTING_S1} --no-compaction --bits 4 --filters benefit,monkey-ribbon {lookups}"
        );
        let (quick, full) = ("--lookups 200000", "--lookups 400000 --salts 3");
        (label, Run::springbloom(format!("simulated-{name}"), None, &both, quick, full))
    };
    vec![
        line("Zipf .99", "zipf-0.99", "--distribution zipf:0.99"),
        line("Zipf .7", "zipf-0.7", "--distribution zipf:0.7"),
        line("Zipf .99, absent keys never twice", "fresh", "--distribution zipf:0.99 --absent fresh"),
        line("uniform", "uniform", "--distribution uniform"),
    ]
}

/// Each table of the largest level is rewritten once in 320,000 lookups: about as many writes as lookups.
fn at_compaction() -> Vec<Line> {
    // Of ten ranges one has nine tenths of the lookups.
    const HOT_RANGE: &str = "--distribution ranges:500000:3.8";
    let line = |label, name: &str, lookups: &str| {
        let both =
            format!("simulate {SETTING_S1} --filters monkey-ribbon,at-compaction,monkey,benefit {lookups}");
        let (quick, full) = ("--lookups 160000", "--lookups 320000 --salts 3");
        (label, Run::springbloom(format!("at-compaction-{name}"), None, &both, quick, full))
    };
    let drift = "--distribution zipf:0.99 --movement drift:200000 --bits 4";
    vec![
        line("uniform", "uniform", "--distribution uniform --bits 4"),
        line(
            "uniform, no negative cache",
            "uniform-no-cache",
            "--distribution uniform --bits 4 --no-negative-cache",
        ),
        line("Zipf .7", "zipf-0.7", "--distribution zipf:0.7 --bits 4"),
        line("Zipf .99", "zipf-0.99", "--distribution zipf:0.99 --bits 4"),
        line(
            "Zipf .99, no negative cache",
            "zipf-0.99-no-cache",
            "--distribution zipf:0.99 --bits 4 --no-negative-cache",
        ),
        line("Zipf .99, all hot keys change in 200,000 lookups", "drift", drift),
        line("ranges of 1,000 keys, Zipf .99", "ranges", "--distribution ranges:1000:0.99 --bits 4"),
        line("a tenth of the keys is hot as a range", "hot-range", &format!("{HOT_RANGE} --bits 4")),
        line(
            "the range moves every 200,000 lookups",
            "hot-range-200k",
            &format!("{HOT_RANGE} --movement jump:200000 --bits 4"),
        ),
        line(
            "the range moves every 50,000 lookups",
            "hot-range-50k",
            &format!("{HOT_RANGE} --movement jump:50000 --bits 4"),
        ),
        line("2 bits per key, uniform", "uniform-2", "--distribution uniform --bits 2"),
        line("2 bits per key, Zipf .99", "zipf-0.99-2", "--distribution zipf:0.99 --bits 2"),
        line("2 bits per key, hot range", "hot-range-2", &format!("{HOT_RANGE} --bits 2")),
    ]
}

fn trees() -> Vec<Line> {
    let line = |label, name: &str, tree: &str| {
        let both = format!(
            "simulate {tree} --bits 4 --filters uniform,monkey,multi-queue,benefit,monkey-ribbon,at-compaction,optimum"
        );
        (label, Run::springbloom(format!("tree-{name}"), None, &both, "--segments 500", "--segments 2000"))
    };
    vec![
        line("leveled, 91 TiB", "leveled", "--records 100G"),
        line("LevelDB, 0.9 TiB", "leveldb", "--records 1G --tree leveldb"),
        line("tiered, 0.9 TiB", "tiered", "--records 1G --tree tiered"),
        line("PebblesDB, 0.9 TiB", "pebblesdb", "--records 1G --tree pebblesdb"),
    ]
}

fn large_values() -> Vec<Line> {
    let line = |label, bytes: u32| {
        let both = format!(
            "simulate --records 1G --bits 4 --filters benefit,monkey-ribbon --record-bytes {bytes} --segments 100 --lookups 100000"
        );
        (label, Run::springbloom(format!("large-values-{bytes}"), None, &both, "", "--salts 3"))
    };
    vec![line("1,000 B", 1000), line("4,000 B", 4000), line("16,000 B", 16_000), line("100,000 B", 100_000)]
}
