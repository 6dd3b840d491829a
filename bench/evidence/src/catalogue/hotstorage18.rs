//! ElasticBF, HotStorage'18: one segment a table.

use super::figures::{Point, just, perfect_ratio, point, ratio};
use super::stores::{LOADS_DIFFER, Subject, TABLES_OF_2_MIB, fewer_reads_saved, load, measured};
use crate::experiment::{Claim, Experiment, Here, Holds, Paper, Shown, Whose};

const RATE: &str = "lookups_per_s";
const READS: &str = "data_reads_per_get";
const SUBJECTS: [Subject; 2] = [(Whose::Published, "elasticbf-file:4"), (Whose::Springbloom, "elastic:4")];

pub(super) fn experiments() -> Vec<Experiment> {
    let experiment =
        |id, place, shows, here| Experiment { id, paper: Paper::HotStorage18, place, shows, here };
    vec![
        experiment("hotstorage18-fig5", "Figure 5", "lookups per second by popularity", by_popularity(true)),
        experiment("hotstorage18-table1", "Table 1", "reads of data by popularity", by_popularity(false)),
        experiment("hotstorage18-fig6", "Figure 6", "lookups per second by memory", by_memory()),
        experiment("hotstorage18-fig7", "Figure 7", "time to load", loads()),
    ]
}

/// Popularities with the paper's counts of reads: of LevelDB and of ElasticBF.
const POPULARITIES: [(&str, f64, f64); 4] = [
    ("uniform", 1_525_595.0, 628_225.0),
    ("zipf:0.99", 1_585_605.0, 578_553.0),
    ("zipf:1.1", 1_634_752.0, 550_658.0),
    ("zipf:1.2", 1_667_947.0, 545_345.0),
];

fn by_popularity(is_timed: bool) -> Here {
    let name = |popularity: &str| format!("popularity-{popularity}");
    let runs = POPULARITIES.map(|(popularity, ..)| {
        let arguments = format!("--configs bloom:4,elasticbf-file:4,elastic:4 --distribution {popularity}");
        TABLES_OF_2_MIB.brief(&name(popularity), &arguments)
    });
    let claims = POPULARITIES.iter().flat_map(|&(popularity, leveldb, elasticbf)| {
        SUBJECTS.map(|(whose, config)| {
            let of = |figure, config| TABLES_OF_2_MIB.point(&name(popularity), figure, config);
            if is_timed {
                let ours = ratio(of(RATE, config), of(RATE, "bloom:4"));
                Claim::between(format!("lookups of bloom:4, {popularity}"), whose, (1.94, 2.24), ours)
                    .timed()
                    .counted(ratio(of(READS, "bloom:4"), of(READS, config)))
            } else {
                let ours = ratio(of(READS, "bloom:4"), of(READS, config));
                let says = format!("reads of bloom:4, for each of ours, {popularity}");
                Claim::new(says, whose, leveldb / elasticbf, ours)
            }
            .limit(perfect_ratio(|figure| of(figure, "bloom:4")))
            .otherwise(fewer_reads_saved(whose))
        })
    });
    measured(runs.into(), claims.collect())
}

/// With the block cache of the paper, 8 MiB for 100 GB.
fn by_memory() -> Here {
    let run = TABLES_OF_2_MIB.sized(
        "bits",
        "--configs bloom:4,bloom:8,elasticbf-file:4,elasticbf-file:8,elastic:4,elastic:8",
        "--block-cache 24KiB",
        "--block-cache 400KiB --ops 100000",
    );
    let point =
        |name, config: &str| -> Point { point(TABLES_OF_2_MIB.name_of("bits"), name).of("config", config) };
    let claims = SUBJECTS.into_iter().flat_map(|(whose, four)| {
        let eight = if whose == Whose::Published { "elasticbf-file:8" } else { "elastic:8" };
        [
            Claim::new(
                "lookups with 4 bits per key, of those of bloom:8",
                whose,
                1.0,
                ratio(point(RATE, four), point(RATE, "bloom:8")),
            )
            .timed()
            // The paper says "similar" of a gain: more is no failure of ours.
            .holds(if whose == Whose::Published { Holds::Within(1.1) } else { Holds::AtLeast })
            .counted(ratio(point(READS, "bloom:8"), point(READS, four)))
            .otherwise(fewer_reads_saved(whose)),
            Claim::new(
                "reads in vain with 4 bits per key, of those of bloom:8",
                whose,
                1.0,
                ratio(point("wasted_reads_per_get", four), point("wasted_reads_per_get", "bloom:8")),
            )
            .holds(Holds::AtMost)
            .otherwise(fewer_reads_saved(whose)),
            Claim::new(
                "lookups with 8 bits per key, of those of bloom:8",
                whose,
                1.1,
                ratio(point(RATE, eight), point(RATE, "bloom:8")),
            )
            .timed()
            .counted(ratio(point(READS, "bloom:8"), point(READS, eight)))
            .otherwise(fewer_reads_saved(whose)),
        ]
    });
    measured(vec![run], claims.collect())
}

fn loads() -> Here {
    let ratio_of = |name, config| just(point("load", name).of("config", config));
    let claims = SUBJECTS.into_iter().flat_map(|(whose, config)| {
        [
            Claim::new(
                "time of a load, of that with bloom:4",
                whose,
                1.001,
                ratio_of("load_time_ratio", config),
            )
            .holds(Holds::AtMost)
            .timed()
            .otherwise(LOADS_DIFFER),
            Claim::new(
                "bytes that a load writes, of those with bloom:4",
                whose,
                1.001,
                ratio_of("load_written_ratio", config),
            )
            .holds(Holds::AtMost)
            .shown(Shown::Number("times"))
            .otherwise("units for later take room on the disk: 16 of one bit 2 bytes a key, 6 of four bits 3; bloom:4 takes half a byte"),
        ]
    });
    measured(vec![load()], claims.collect())
}
