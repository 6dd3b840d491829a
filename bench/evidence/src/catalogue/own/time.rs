//! Wasted reads over time: the first lookups, hot sets that jump, tables that writes replace.

use super::{Line, SETTING_S1, SMALL, lines, tabled};
use crate::experiment::{Experiment, Layout, Steps};
use crate::run::Run;

pub(super) fn experiments() -> Vec<Experiment> {
    let jump = Run::springbloom(
        "jump",
        SMALL,
        "compare --preset small --configs bloom:4,ribbon:4,monkey-ribbon:4,elastic:4 --threads 4 --rounds 1 --load-rounds 0",
        "--records 500000 --salts 1 --movement jump:50000 --window 10000 --warmup 50000 --ops 150000",
        "--records 2000000 --salts 3 --movement jump:250000 --window 50000 --warmup 300000 --ops 700000",
    );
    vec![
        lines(
            "first-lookups",
            "the first lookups",
            "wasted reads of the first lookups after a cold opening",
            &["wasted_reads_per_get"],
            first_lookups(),
        ),
        tabled(
            "jump",
            "a hot set that jumps",
            "wasted reads in windows, while all popular keys change at once now and then",
            Layout::Steps(Steps::WINDOWS),
            vec![jump],
        ),
        lines(
            "throughput",
            "throughput",
            "lookups per second in Setting S1, to those of Bloom filters with 2.5 times the memory, and what they read",
            &["lookups_ratio", "data_reads_per_get", "filter_reads_per_get", "wasted_reads_per_get"],
            throughput(),
        ),
        lines(
            "ycsb",
            "YCSB",
            "wasted reads and operations per second while writes replace tables",
            &["wasted_reads_per_get", "lookups_ratio"],
            ycsb(),
        ),
    ]
}

fn throughput() -> Vec<Line> {
    [("1 thread", "1"), ("4 threads", "4")]
        .map(|(label, threads)| {
            let both = format!(
                "compare --preset leveled --configs bloom:10,partitioned:10,elastic:4 --threads {threads} --load-rounds 0"
            );
            let quick = "--records 600000 --salts 1 --rounds 1 --warmup 50000 --ops 50000";
            let full = "--records 5000000 --salts 2 --rounds 3 --warmup 250000 --ops 150000";
            (label, Run::springbloom(format!("throughput-{threads}"), SETTING_S1, &both, quick, full))
        })
        .into()
}

fn first_lookups() -> Vec<Line> {
    const AMPLE: &str = "--configs bloom:10,elastic:10 --budget 64MiB --distribution uniform";
    const SHORT: &str = "--configs ribbon:4,monkey-ribbon:4,elastic:4";
    let line = |label, name: &str, both: &str, ops: u32| {
        let both = format!(
            "compare --preset leveled {both} --warmup 0 --ops {ops} --threads 4 --rounds 1 --load-rounds 0"
        );
        let name = format!("first-{name}-{ops}");
        let run = Run::springbloom(
            name,
            SETTING_S1,
            &both,
            "--records 600000 --salts 1",
            "--records 5000000 --salts 3",
        );
        (label, run)
    };
    vec![
        line("ample memory (64 MiB), uniform, first 10,000", "ample", AMPLE, 10_000),
        line("ample memory (64 MiB), uniform, first 50,000", "ample", AMPLE, 50_000),
        line("4 bits per key, Zipf .99, first 20,000", "short", SHORT, 20_000),
        line("4 bits per key, Zipf .99, first 50,000", "short", SHORT, 50_000),
    ]
}

fn ycsb() -> Vec<Line> {
    let line = |label, name: &str, workload: &str| {
        let both = format!(
            "compare --preset leveled --configs bloom:4,ribbon:4,monkey-ribbon:4,bloom:10,elastic:4 --workload {workload} --load-rounds 0"
        );
        let quick = "--records 600000 --salts 1 --rounds 1 --warmup 30000 --ops 30000";
        let full = "--records 5000000 --salts 2 --rounds 2 --warmup 150000 --ops 100000";
        (label, Run::springbloom(name, SETTING_S1, &both, quick, full))
    };
    vec![
        line("A: half of the operations write; all keys exist", "ycsb-a-present", "a --zero-result 0"),
        line("A, half of the keys absent", "ycsb-a-half", "a --zero-result 0.5"),
        line("B: one operation in 20 writes; half of the keys absent", "ycsb-b-half", "b --zero-result 0.5"),
    ]
}
