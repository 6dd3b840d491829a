//! Wasted reads by memory: the main comparison, every filter, block caches.

use super::{SETTING_S1, SMALL, tabled};
use crate::catalogue::stores::LEVELDB;
use crate::experiment::{Experiment, Layout, Steps};
use crate::run::Run;

pub(super) fn experiments() -> Vec<Experiment> {
    let experiment = |id, place, shows, runs| tabled(id, place, shows, Layout::Filters, runs);
    let small = "bloom:2,bloom:4,bloom:6,bloom:8,bloom:10,ribbon:3,ribbon:4,ribbon:6,ribbon:8,monkey-bloom:2,monkey-bloom:4,monkey-bloom:6,\
                 monkey-ribbon:3,monkey-ribbon:4,monkey-ribbon:6,elastic:1,elastic:2,elastic:4,elastic:6,elastic:8,elastic:10";
    let memory = Run::springbloom(
        "memory",
        SMALL,
        &format!("compare --preset small --configs {small} --load-rounds 0"),
        "--records 500000 --salts 1 --rounds 1 --warmup 50000 --ops 50000",
        "--records 2000000 --salts 3 --rounds 1 --warmup 300000 --ops 300000",
    );
    let simulated = Run::springbloom(
        "memory-simulated",
        None,
        "simulate --records 1G --bits 1,2,3,4,6,8,10",
        "--segments 500",
        "--segments 4000 --salts 3",
    );
    let skipping = Run::springbloom(
        "shamba-thresholds",
        SMALL,
        "compare --preset shamba --records 500000 --warmup 10000 --rounds 1 --configs \
         bloom:10@cache,mbf:10@thresholds=0/0,mbf:10,mbf:10@thresholds=.2/.1,mbf:10@thresholds=.6/.5,elastic:10",
        "--ops 5000",
        "--ops 20000",
    );
    let sorted_runs = LEVELDB.brief(
        "memory",
        "--configs bloom:4,bloom:10,ribbon:4,monkey-ribbon:4,elastic:2,elastic:4,elastic:10",
    );
    let main = Run::springbloom(
        "setting-s1",
        SETTING_S1,
        "compare --preset leveled \
         --configs bloom:4,monkey-bloom:4,ribbon:4,monkey-ribbon:4,partitioned:10,elasticbf:4,elastic:2,elastic:4,bloom:10",
        "--records 600000 --salts 1 --rounds 1 --warmup 50000 --ops 50000 --load-rounds 0",
        "--records 5000000 --salts 2 --rounds 2 --warmup 300000 --ops 200000 --load-rounds 0",
    );
    let cached = |name, quick_kib: u32, full_mib: u32| {
        Run::springbloom(
            name,
            SETTING_S1,
            "compare --preset leveled --configs ribbon:4,monkey-ribbon:4,elastic:4,elastic:4.2,bloom:10 \
             --rounds 1 --load-rounds 0 --threads 4",
            &format!("--records 600000 --salts 1 --warmup 100000 --ops 100000 --block-cache {quick_kib}KiB"),
            &format!("--records 5000000 --salts 3 --warmup 600000 --ops 400000 --block-cache {full_mib}MiB"),
        )
    };
    vec![
        experiment(
            "setting-s1",
            "the main comparison",
            "filters at the same memory, 600,000 or 5 million records of 1,000 B in a leveled tree",
            vec![main],
        ),
        experiment(
            "setting-s1-small-cache",
            "a small block cache",
            "the same with a block cache of 0.6% of the data, which keeps the blocks that hot keys read again",
            vec![cached("setting-s1-small-cache", 4 << 10, 32)],
        ),
        experiment(
            "setting-s1-large-cache",
            "a large block cache",
            "the same with a block cache of 5% of the data",
            vec![cached("setting-s1-large-cache", 32 << 10, 256)],
        ),
        experiment(
            "memory",
            "every filter",
            "reads in vain by memory, 500,000 or 2 million records of 100 B",
            vec![memory],
        ),
        experiment(
            "memory-sorted-runs",
            "many sorted runs",
            "reads in vain by memory in LevelDB's tree",
            vec![sorted_runs],
        ),
        tabled(
            "equal-memory",
            "one block cache that pays for all",
            "block reads and lookups per second, with partitioned filters and with elastic ones",
            Layout::OneCache,
            SMALL_VALUES.runs(),
        ),
        tabled(
            "equal-memory-large-values",
            "one block cache that pays for all, large values",
            "the same with values of 1,000 B",
            Layout::OneCache,
            LARGE_VALUES.runs(),
        ),
        tabled(
            "skipping",
            "modules that are skipped",
            "reads beside those of found keys, by SHaMBa's thresholds, at a tenth of the filters' memory",
            Layout::Steps(SKIPPING),
            vec![skipping],
        ),
        tabled(
            "memory-simulated",
            "a store of 1 TB",
            "reads in vain by memory, simulated",
            Layout::Steps(Steps::BITS),
            vec![simulated],
        ),
    ]
}

/// Where the filters' memory is a tenth of what all would take.
const SKIPPING: Steps = Steps {
    figure: "extra_reads_per_get",
    label: "existing",
    with: &[("budget", "0.1"), ("distribution", "uniform")],
    title: "reads beside those of found keys per lookup, by the share of keys that exist",
};

/// Runs in which the block cache pays for indexes, filters and data.
struct OneCache {
    name: &'static str,
    kinds: &'static [&'static str],
    value_bytes: u32,
    /// Of a quick run; ten times as many of a full one.
    records: u32,
    /// Block caches with the budget of elastic filters in each, in KiB, of a quick run; ten times as much of a full one. Where memory is
    /// short, half of it is for filters.
    caches: [(u32, u32); 5],
}

const SMALL_VALUES: OneCache = OneCache {
    name: "equal-memory",
    kinds: &["lru-one-shard", "lru", "hyper-clock"],
    value_bytes: 100,
    records: 300_000,
    caches: [(200, 100), (400, 200), (800, 250), (1600, 300), (3200, 300)],
};
/// Indexes are several times as large as filters.
const LARGE_VALUES: OneCache = OneCache {
    name: "equal-memory-large-values",
    kinds: &["lru", "hyper-clock"],
    value_bytes: 1000,
    records: 100_000,
    caches: [(100, 40), (200, 60), (400, 80), (800, 100), (1600, 100)],
};

impl OneCache {
    fn runs(&self) -> Vec<Run> {
        let Self { name, kinds, value_bytes, records, caches } = self;
        let mut runs = Vec::new();
        for kind in *kinds {
            for law in ["zipf:0.99", "uniform"] {
                for (cache, budget) in caches {
                    let both = format!(
                        "compare --preset small --value-bytes {value_bytes} --configs partitioned:10,elastic:8 --cache-kind {kind} \
                         --one-cache --distribution {law} --salts 1 --load-rounds 0"
                    );
                    let of = |factor, rounds| {
                        let (records, cache, budget) = (records * factor, cache * factor, budget * factor);
                        format!("--records {records} {rounds} --block-cache {cache}KiB --budget {budget}KiB")
                    };
                    let quick = of(1, "--warmup 5000 --ops 5000 --rounds 1");
                    let full = of(10, "--warmup 30000 --ops 30000 --rounds 5");
                    let run = format!("{name}-{kind}-{law}-{cache}");
                    runs.push(Run::springbloom(run, Some(name), &both, &quick, &full));
                }
            }
        }
        runs
    }
}
