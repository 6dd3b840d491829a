//! BloomStore, MSST'12 (slides).

use super::figures::{just, point, ratio};
use super::stores::measured;
use crate::experiment::{Claim, Experiment, Here, Holds, Paper, Shown, Whose};
use crate::run::Run;

const INDEX: (&str, &str) = ("springbloom-flash-index", "index");
/// Chunks that the paper's trace `linux` inserts: 12,427,697 operations, of which one in 5.1 inserts.
const LINUX_KEYS: f64 = 12_427_697.0 / 5.1;

pub(super) fn experiments() -> Vec<Experiment> {
    let experiment = |id, place, shows, here| Experiment { id, paper: Paper::BloomStore, place, shows, here };
    vec![
        experiment("bloomstore-ram", "Impact of Pre-filter, table", "memory for each key", memory()),
        experiment(
            "bloomstore-prefilter",
            "Impact of Pre-filter, figures",
            "reads for absent keys, with a pre-filter and without",
            prefilter(),
        ),
        experiment(
            "bloomstore-lookups",
            "Key Lookup T-put",
            "lookups per second, against SkimpyStash",
            lookups(),
        ),
    ]
}

fn index() -> Run {
    let settings = |keys, seconds| [("SPRINGBLOOM_BENCH_KEYS", keys), ("SPRINGBLOOM_BENCH_SECONDS", seconds)];
    Run::bench("index-chains", INDEX, "ours skimpy", &settings(2_400_000, 1), &settings(50_000_000, 3))
}

fn bare() -> Run {
    let settings = |keys, seconds| [("SPRINGBLOOM_BENCH_KEYS", keys), ("SPRINGBLOOM_BENCH_SECONDS", seconds)];
    Run::bench("index-bare", INDEX, "bare", &settings(2_400_000, 1), &settings(10_000_000, 2))
}

fn ours(name: &'static str) -> super::figures::Point {
    point("index-chains", name).of("store", "springbloom")
}

fn memory() -> Here {
    let claim = Claim::new(
        "memory for each key, of 2,400,000 keys (the paper: 2,950 KB in all)",
        Whose::Springbloom,
        2950.0 * 1024.0 / LINUX_KEYS,
        just(ours("counted_bytes_per_key")),
    );
    let under_a_byte = Claim::new(
        "memory for each key: \"sub-byte\"",
        Whose::Springbloom,
        1.0,
        just(ours("counted_bytes_per_key")),
    );
    let few = "buffers that do not grow with the keys are most of the memory of so few; 50 million keys take 0.70 bytes each";
    let claims = [claim, under_a_byte]
        .map(|claim| claim.shown(Shown::Number("B")).holds(Holds::AtMost).otherwise(few));
    measured(vec![index()], claims.into())
}

fn prefilter() -> Here {
    let absent = ratio(
        ours("reads_per_absent"),
        point("index-bare", "reads_per_absent").of("store", "springbloom, no pre-filter"),
    );
    let claim = Claim::new(
        "reads for an absent key with a pre-filter, of those without (the paper: \"a significant amount\" fewer)",
        Whose::Springbloom,
        0.5,
        absent,
    );
    measured(vec![index(), bare()], vec![claim.holds(Holds::AtMost).shown(Shown::Number("times"))])
}

fn lookups() -> Here {
    let claims = [("4.1 : 1", "linux"), ("1.6 : 1", "vx")].map(|(mix, trace)| {
        let rate = point("index-chains", "lookups_ratio")
            .of("store", "bucket chains of 10, 3 bits")
            .of("lookups", format!("keys, {mix}"));
        let says = format!(
            "lookups of SkimpyStash with the same memory, {mix} as in {trace} (the paper: \"better\")"
        );
        Claim::new(says, Whose::Springbloom, 1.0, just(rate)).timed()
    });
    let skimpy = |name| point("index-chains", name).of("store", "bucket chains of 10, 3 bits");
    let fewer = [("reads_per_hit", "found"), ("reads_per_absent", "absent")].map(|(name, kind)| {
        let claim = Claim::new(
            format!("reads for each {kind} key, of those of SkimpyStash"),
            Whose::Springbloom,
            1.0,
            ratio(ours(name), skimpy(name)),
        );
        claim.holds(Holds::AtMost)
    });
    measured(vec![index()], claims.into_iter().chain(fewer).collect())
}
