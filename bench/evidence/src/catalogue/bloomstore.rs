//! BloomStore, MSST'12 (slides).

use super::figures::{Point, just, point, ratio};
use super::stores::measured;
use crate::experiment::{Claim, Experiment, Here, Holds, Paper, Shown, Whose};
use crate::run::Run;

const INDEX: (&str, &str) = ("flash/bench", "index");
const RUN: &str = "index-slides";
const SUBJECTS: [(Whose, &str); 2] = [(Whose::Published, "BloomStore"), (Whose::Springbloom, "springbloom")];

/// A workload of the slides: operations and lookups for each insertion, as in the benchmark, and memory in KiB.
struct Workload {
    name: &'static str,
    operations: f64,
    lookups_per_insertion: f64,
    kib: f64,
}

static WORKLOADS: [Workload; 2] = [
    Workload { name: "linux", operations: 12_427_697.0, lookups_per_insertion: 4.1, kib: 2950.0 },
    Workload { name: "vx", operations: 14_628_873.0, lookups_per_insertion: 1.6, kib: 6906.0 },
];

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
            "lookups per second and reads, against SkimpyStash with filters of 8 bits per key at the same memory",
            lookups(),
        ),
    ]
}

/// All stores with the keys and the memory of the slides. The sizes are fixed; the environment sets the time of a measurement.
fn slides() -> Run {
    Run::bench(RUN, INDEX, "slides", &[("SPRINGBLOOM_BENCH_SECONDS", 1)], &[("SPRINGBLOOM_BENCH_SECONDS", 3)])
}

/// The index without pre-filters.
fn bare_run() -> Run {
    let settings = |keys, seconds| [("SPRINGBLOOM_BENCH_KEYS", keys), ("SPRINGBLOOM_BENCH_SECONDS", seconds)];
    Run::bench("index-bare", INDEX, "bare", &settings(2_400_000, 1), &settings(10_000_000, 2))
}

fn of(name: &'static str, store: &str, workload: &Workload) -> Point {
    point(RUN, name).of("store", format!("{store}, {}", workload.name))
}

fn memory() -> Here {
    let few = "buffers that do not grow with the keys are most of the memory of so few; 50 million keys take 0.70 bytes each";
    let claims = WORKLOADS.iter().flat_map(|workload| {
        let keys = workload.operations / (1.0 + workload.lookups_per_insertion);
        SUBJECTS.map(|(whose, store)| {
            let says = format!(
                "memory for each key, {} (the slides: {} KB of {:.0} keys)",
                workload.name, workload.kib, keys
            );
            let ours = just(of("counted_bytes_per_key", store, workload));
            Claim::new(says, whose, workload.kib * 1024.0 / keys, ours)
                .shown(Shown::Number("B"))
                // The slides count no counters of partitions.
                .holds(if whose == Whose::Published { Holds::Within(1.02) } else { Holds::AtMost })
                .otherwise(few)
        })
    });
    measured(vec![slides()], claims.collect())
}

fn prefilter() -> Here {
    let says = |workload: &str| {
        format!(
            "reads for an absent key with a pre-filter, of those without, {workload} (the slides: \"a significant amount\" fewer)"
        )
    };
    let claim = |says, whose, ours| {
        Claim::new(says, whose, 0.5, ours).holds(Holds::AtMost).shown(Shown::Number("times"))
    };
    let mut claims: Vec<_> = WORKLOADS
        .iter()
        .map(|workload| {
            let reads = |store| of("reads_per_absent", store, workload);
            let ours = ratio(reads("BloomStore"), reads("BloomStore without pre-filter"));
            claim(says(workload.name), Whose::Published, ours)
        })
        .collect();
    let bare = point("index-bare", "reads_per_absent").of("store", "springbloom, no pre-filter");
    let ours = ratio(of("reads_per_absent", "springbloom", &WORKLOADS[0]), bare);
    claims.push(claim(says(WORKLOADS[0].name), Whose::Springbloom, ours));
    measured(vec![slides(), bare_run()], claims)
}

fn lookups() -> Here {
    let claims = WORKLOADS.iter().flat_map(|workload| {
        let name = workload.name;
        SUBJECTS.into_iter().flat_map(move |(whose, store)| {
            let rate = of("lookups_ratio", store, workload);
            let says = format!("lookups of SkimpyStash, mix of {name} (the slides: \"better\")");
            let rate = Claim::new(says, whose, 1.0, just(rate)).timed();
            let fewer = [("reads_per_hit", "found"), ("reads_per_absent", "absent")].map(|(figure, kind)| {
                let ours = ratio(of(figure, store, workload), of(figure, "SkimpyStash", workload));
                let says = format!("reads for each {kind} key, of those of SkimpyStash, {name}");
                Claim::new(says, whose, 1.0, ours).holds(Holds::AtMost)
            });
            [rate].into_iter().chain(fewer)
        })
    });
    measured(vec![slides()], claims.collect())
}
