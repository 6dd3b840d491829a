//! Wasted reads by what is looked up.

use super::{Line, SETTING_S1, SMALL, lines, tabled};
use crate::catalogue::stores::{LEVELDB, PEBBLESDB};
use crate::experiment::{Experiment, Layout};
use crate::run::Run;

const WASTED: &[&str] = &["wasted_reads_per_get"];
/// What a line is called, the name of its run, and its lookups.
type Law = (&'static str, &'static str, &'static str);
const LAWS: [Law; 4] = [
    ("Zipf .99", "zipf-0.99", "--distribution zipf:0.99"),
    ("Zipf .7", "zipf-0.7", "--distribution zipf:0.7"),
    ("Zipf .99, absent keys never twice", "fresh", "--distribution zipf:0.99 --absent fresh"),
    ("uniform", "uniform", "--distribution uniform"),
];
/// Of ranges of 1,000 neighbouring keys.
const LAWS_OF_RANGES: [Law; 6] = [
    ("Zipf .99", "zipf-0.99", "--distribution ranges:1000:0.99"),
    ("Zipf .99, absent keys never twice", "fresh", "--distribution ranges:1000:0.99 --absent fresh"),
    ("Zipf 1.2", "zipf-1.2", "--distribution ranges:1000:1.2"),
    ("Zipf 1.2, absent keys never twice", "zipf-1.2-fresh", "--distribution ranges:1000:1.2 --absent fresh"),
    ("Zipf .7, absent keys never twice", "zipf-0.7-fresh", "--distribution ranges:1000:0.7 --absent fresh"),
    (
        "Zipf .99, all ranges change once in a million lookups",
        "drift",
        "--distribution ranges:1000:0.99 --movement drift:1000000",
    ),
];

pub(super) fn experiments() -> Vec<Experiment> {
    let by_law = |laws: &[Law], tree: &str, databases, both: &str, quick: &str, full: &str| -> Vec<Line> {
        let run = |&(label, name, lookups): &Law| {
            let both = format!("compare {both} {lookups} --threads 4 --rounds 1 --load-rounds 0");
            (label, Run::springbloom(format!("{tree}-{name}"), databases, &both, quick, full))
        };
        laws.iter().map(run).collect()
    };
    // Every filter takes some bytes beside its bits. With 3.87 bits (3.8 in small tables) the blocks of Ribbon by level take the memory
    // that elastic:4 may take. With 4.2 (4.3) elastic filters may take what monkey-ribbon:4 takes with the readers of its blocks, 170 bytes
    // a table (hosts/rocksdb/tests/table_memory.rs).
    let leveled = by_law(
        &LAWS,
        "popularity",
        SETTING_S1,
        "--preset leveled --configs ribbon:4,monkey-ribbon:4,monkey-ribbon:3.87,elastic:4,elastic:4.2",
        "--records 600000 --salts 1 --warmup 50000 --ops 50000",
        "--records 5000000 --salts 3 --warmup 300000 --ops 300000",
    );
    let of_small = |laws, tree, databases, configs| {
        by_law(
            laws,
            tree,
            databases,
            &format!("--preset small --configs {configs}"),
            "--records 500000 --salts 1 --warmup 50000 --ops 50000",
            "--records 2000000 --salts 3 --warmup 300000 --ops 300000",
        )
    };
    let absent = LEVELDB.brief(
        "sorted-runs-absent",
        "--configs bloom:4,monkey-bloom:4,monkey-ribbon:4,bloom:10,elastic:4 --zero-result 1",
    );
    let universal =
        PEBBLESDB.brief("universal", "--configs bloom:4,ribbon:4,monkey-ribbon:4,bloom:10,elastic:4");
    vec![
        lines(
            "popularity",
            "by popularity",
            "wasted reads in Setting S1, by what is looked up",
            WASTED,
            leveled,
        ),
        lines(
            "popularity-small-tables",
            "by popularity, small tables",
            "the same where a table has 7,600 keys",
            WASTED,
            of_small(
                &LAWS,
                "small-tables",
                SMALL,
                "ribbon:4,monkey-ribbon:4,monkey-ribbon:3.8,elastic:4,elastic:4.3",
            ),
        ),
        lines(
            "popularity-ranges",
            "by popularity, ranges of keys",
            "the same where 1,000 neighbouring keys, present and absent, are equally popular",
            WASTED,
            of_small(
                &LAWS_OF_RANGES,
                "ranges",
                Some("small-in-order"),
                "ribbon:4,monkey-ribbon:4,monkey-ribbon:3.8,elastic:4",
            ),
        ),
        tabled(
            "sorted-runs-absent",
            "many sorted runs, absent keys alone",
            "wasted reads in LevelDB's tree, which asks 14 tables for an absent key",
            Layout::Filters,
            vec![absent],
        ),
        tabled(
            "universal",
            "universal compaction",
            "wasted reads where sorted runs overlap",
            Layout::Filters,
            vec![universal],
        ),
    ]
}
