//! What Springbloom costs where it saves no reads.

use super::{Line, SMALL, lines};
use crate::catalogue::shamba;
use crate::catalogue::stores::load;
use crate::experiment::Experiment;
use crate::run::Run;

pub(super) fn experiments() -> Vec<Experiment> {
    let small_records = Run::springbloom(
        "load-small-records",
        None,
        "compare --preset leveled --load-only --value-bytes 100 --configs bloom:4,elasticbf:4,elasticbf-file:4,elastic:4",
        "--load-records 600000 --load-rounds 3",
        "--load-records 3000000 --load-rounds 7",
    );
    vec![
        lines(
            "in-memory",
            "everything in memory",
            "lookups and processor time where no lookup reads the disk",
            &["lookups_ratio", "cpu_us_per_op"],
            in_memory(),
        ),
        lines(
            "loading",
            "loading",
            "time, processor time and bytes written of a load, to those with bloom:4",
            &["load_time_ratio", "load_cpu_ratio", "load_written_ratio"],
            vec![("records of 1,000 B", load()), ("records of 100 B", small_records)],
        ),
    ]
}

fn in_memory() -> Vec<Line> {
    const CACHED: &str = "--buffered --block-cache 2GiB --load-rounds 0 --salts 1";
    let two_tables = |name: &str, arguments: &str| {
        Run::springbloom(
            name,
            SMALL,
            &format!("compare --preset small --configs {arguments} {CACHED}"),
            "--records 500000 --warmup 100000 --ops 100000 --rounds 5",
            "--records 2000000 --warmup 400000 --ops 300000 --rounds 21",
        )
    };
    let many_tables = |name: &str, arguments: &str| {
        Run::springbloom(
            name,
            Some("in-memory"),
            &format!(
                "compare --preset leveldb --value-bytes 100 --configs bloom:10,elastic:10 --zero-result {arguments} {CACHED}"
            ),
            "--records 500000 --warmup 100000 --ops 100000 --rounds 5",
            "--records 3000000 --warmup 600000 --ops 300000 --rounds 9",
        )
    };
    let mut lines = vec![
        ("2 tables asked, half of the keys absent", two_tables("in-memory", "bloom:10,elastic:10,elastic:4")),
        (
            "the same with MultiGet of 32 keys",
            two_tables("in-memory-multiget", "bloom:10,elastic:10 --multi-get 32"),
        ),
        ("13 tables asked, all keys absent", many_tables("in-memory-absent", "1")),
        ("the same with MultiGet of 32 keys", many_tables("in-memory-absent-multiget", "1 --multi-get 32")),
        ("the same tree, half of the keys absent", many_tables("in-memory-half", "0.5")),
        ("the same with MultiGet of 32 keys", many_tables("in-memory-half-multiget", "0.5 --multi-get 32")),
    ];
    let lengths =
        ["6 tables asked, all absent, keys of 16 B", "the same, keys of 256 B", "the same, keys of 1,023 B"];
    lines.extend(lengths.into_iter().zip(shamba::by_key_length()));
    lines
}
