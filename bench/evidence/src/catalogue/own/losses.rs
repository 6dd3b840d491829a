//! Where stock filters waste as few reads, or fewer.

use super::{Line, SMALL, lines};
use crate::experiment::Experiment;
use crate::run::Run;

const WASTED: &[&str] = &["wasted_reads_per_get"];
/// Records of 100 B, 4 bits per key.
const SMALL_RECORDS: &str = "--value-bytes 100 --threads 4 --configs ribbon:4,monkey-ribbon:4,elastic:4";

pub(super) fn experiments() -> Vec<Experiment> {
    let run = |name: &str, databases, arguments: &str, quick, full| {
        let both = format!("compare --rounds 1 --load-rounds 0 {arguments}");
        Run::springbloom(format!("little-{name}"), databases, &both, quick, full)
    };
    let line = |label, name, arguments: &str| (label, run(name, None, arguments, "--salts 1", "--salts 3"));
    let own = |label, name, arguments: &str| line(label, name, &format!("{SMALL_RECORDS} {arguments}"));
    let of_small = |label, name, arguments: &str| {
        let arguments = format!("--preset small {SMALL_RECORDS} --zero-result 1 --absent fresh {arguments}");
        let (quick, full) = ("--records 500000 --salts 1", "--records 2000000 --salts 3");
        (label, run(name, SMALL, &arguments, quick, full))
    };
    let large_values = "--configs ribbon:4,monkey-ribbon:4,elastic:4 --value-bytes 16000";
    let (label, long_keys) = own(
        "20,000 keys of 2 KiB, the first 20,000 lookups",
        "long-keys",
        "--records 20000 --warmup 0 --ops 20000",
    );
    let losses: Vec<Line> = vec![
        own("20,000 keys, the first 20,000 lookups", "20k", "--records 20000 --warmup 0 --ops 20000"),
        (label, long_keys.with_keys_of(2048)),
        line(
            "12,000 records of 16 KB",
            "large-values",
            &format!("--preset leveled {large_values} --records 12000 --warmup 12000 --ops 6000"),
        ),
        line(
            "100,000 records of 16 KB, 12 tables in L0",
            "large-values-runs",
            &format!("--preset leveldb {large_values} --records 100000 --warmup 100000 --ops 50000"),
        ),
        own(
            "200,000 keys, segments of 16 KiB",
            "segments",
            "--records 200000 --segment-data-bytes 16K --warmup 60000 --ops 30000",
        ),
        own(
            "300,000 keys, uniform",
            "300k-uniform",
            "--records 300000 --distribution uniform --warmup 600000 --ops 100000",
        ),
        own(
            "300,000 keys, absent keys never twice",
            "300k-fresh",
            "--records 300000 --absent fresh --warmup 100000 --ops 60000",
        ),
        own(
            "1,000,000 keys in tables of 16 MiB, uniform",
            "1M-uniform",
            "--preset leveled --records 1000000 --distribution uniform --warmup 100000 --ops 60000",
        ),
        own(
            "3,000,000 keys in tables of 16 MiB, uniform",
            "3M-uniform",
            "--preset leveled --records 3000000 --distribution uniform --warmup 1000000 --ops 200000",
        ),
        of_small("all keys absent, none twice", "fresh", "--warmup 100000 --ops 60000"),
        of_small("the same, the first 60,000 lookups", "fresh-cold", "--warmup 0 --ops 60000"),
    ];
    let by_threads =
        [("64", "64 threads"), ("128", "128"), ("256", "256"), ("512", "512"), ("1024", "1,024")];
    let threads = by_threads.map(|(threads, label)| {
        let both = format!(
            "compare --value-bytes 100 --configs ribbon:4,monkey-ribbon:4,elastic:4 --threads {threads} --rounds 1 --load-rounds 0"
        );
        let run = Run::springbloom(
            format!("threads-{threads}"),
            Some("threads"),
            &both,
            "--records 500000 --salts 1 --warmup 0 --ops 300000",
            "--records 3000000 --salts 1 --warmup 0 --ops 1500000",
        );
        (label, run)
    });
    vec![
        lines(
            "losses",
            "where it loses",
            "wasted reads where stock filters waste as few, or fewer",
            WASTED,
            losses,
        ),
        lines(
            "threads",
            "many threads",
            "wasted reads by the number of threads, from the first lookup on",
            WASTED,
            threads.into(),
        ),
    ]
}
