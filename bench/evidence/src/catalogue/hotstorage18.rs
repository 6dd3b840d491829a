//! ElasticBF, HotStorage'18: one segment a table.

use super::figures::{just, point, ratio};
use super::stores::{LEVELDB, SUBJECTS, measured, plain};
use crate::experiment::{Claim, Experiment, Here, Holds, Paper, Shown, Whose};
use crate::run::Run;

const RATE: &str = "lookups_per_s";
const READS: &str = "data_reads_per_get";

pub(super) fn experiments() -> Vec<Experiment> {
    let experiment =
        |id, place, shows, here| Experiment { id, paper: Paper::HotStorage18, place, shows, here };
    vec![
        experiment("hotstorage18-fig5", "Figure 5", "lookups per second by popularity", by_popularity(true)),
        experiment("hotstorage18-table1", "Table 1", "reads of data by popularity", by_popularity(false)),
        experiment("hotstorage18-fig6", "Figure 6", "lookups per second by memory", by_memory()),
        experiment("hotstorage18-fig7", "Figure 7", "time to load", load()),
    ]
}

/// Popularities with the paper's counts of reads: of LevelDB and of ElasticBF.
const POPULARITIES: [(&str, f64, f64); 4] = [
    ("uniform", 1_525_595.0, 628_225.0),
    ("zipf:0.99", 1_585_605.0, 578_553.0),
    ("zipf:1.1", 1_634_752.0, 550_658.0),
    ("zipf:1.2", 1_667_947.0, 545_345.0),
];

fn name_of(popularity: &str) -> String {
    if popularity == "zipf:0.99" { "reads".to_owned() } else { format!("popularity-{popularity}") }
}

fn by_popularity(is_timed: bool) -> Here {
    let runs = POPULARITIES.iter().flat_map(|(popularity, ..)| match *popularity {
        // The run of most figures of ATC'19.
        "zipf:0.99" => plain(LEVELDB),
        other => LEVELDB.reads(&name_of(other), &format!("--distribution {other}")),
    });
    let claims = POPULARITIES.iter().flat_map(|&(popularity, leveldb, elasticbf)| {
        SUBJECTS.map(|(whose, suffix, _)| {
            let of =
                |name, config| LEVELDB.point(&name_of(popularity), suffix, name, config).of("threads", "1");
            if is_timed {
                let ours = ratio(of(RATE, "elastic:4"), of(RATE, "bloom:4"));
                Claim::between(format!("lookups of bloom:4, {popularity}"), whose, (1.94, 2.24), ours).timed()
            } else {
                let ours = ratio(of(READS, "bloom:4"), of(READS, "elastic:4"));
                Claim::new(
                    format!("reads of bloom:4, for each of ours, {popularity}"),
                    whose,
                    leveldb / elasticbf,
                    ours,
                )
                .otherwise(
                    "the tree of this size wastes other reads per lookup with bloom:4 than one of 100 GB",
                )
            }
        })
    });
    measured(runs.collect(), claims.collect())
}

fn by_memory() -> Here {
    let run = LEVELDB.run("leveldb-bits", "--configs bloom:4,bloom:8,elastic:4,elastic:8");
    let rate = |config| point("leveldb-bits", RATE).of("config", config);
    let wasted = |config| point("leveldb-bits", "wasted_reads_per_get").of("config", config);
    let claims = vec![
        Claim::new(
            "lookups with 4 bits per key, of those of bloom:8",
            Whose::Springbloom,
            1.0,
            ratio(rate("elastic:4"), rate("bloom:8")),
        )
        .timed()
        .holds(Holds::Within(1.1)),
        Claim::new(
            "reads in vain with 4 bits per key, of those of bloom:8",
            Whose::Springbloom,
            1.0,
            ratio(wasted("elastic:4"), wasted("bloom:8")),
        )
        .holds(Holds::AtMost),
        Claim::new(
            "lookups with 8 bits per key, of those of bloom:8",
            Whose::Springbloom,
            1.1,
            ratio(rate("elastic:8"), rate("bloom:8")),
        )
        .timed(),
    ];
    measured(vec![run], claims)
}

fn load() -> Here {
    // The run of ATC'19, Figure 12.
    let load = Run::springbloom(
        "load",
        None,
        "compare --preset leveled --load-only --configs bloom:4,elastic:4",
        "--load-records 200000 --load-rounds 3",
        "--load-records 1000000 --load-rounds 21",
    );
    let ratio_of = |name| just(point("load", name).of("config", "elastic:4"));
    let claims = vec![
        Claim::new(
            "time of a load, of that with bloom:4",
            Whose::Springbloom,
            1.001,
            ratio_of("load_time_ratio"),
        )
        .holds(Holds::AtMost)
        .timed(),
        Claim::new(
            "bytes that a load writes, of those with bloom:4",
            Whose::Springbloom,
            1.001,
            ratio_of("load_written_ratio"),
        )
        .holds(Holds::AtMost)
        .shown(Shown::Number("times"))
        .otherwise("16 units of a bit take 2 bytes of a key on the disk, bloom:4 half a byte"),
    ];
    measured(vec![load], claims)
}
