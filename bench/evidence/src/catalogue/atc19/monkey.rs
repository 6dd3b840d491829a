//! Against Monkey: section 4.4, in which all lookups ask for absent keys.

use super::{Figure, RATE, READS};
use crate::catalogue::figures::{Point, perfect_ratio, point, ratio, reduction};
use crate::catalogue::stores::{LEVELDB, SUBJECTS, measured, plain};
use crate::experiment::{Claim, Here, Shown, Whose};
use crate::run::Run;

/// Why the paper's gain over Monkey is not reached.
fn otherwise(whose: Whose) -> &'static str {
    match whose {
        Whose::Published => {
            "most of the runs that a lookup asks are small here (12 files in L0), and Monkey gives those many bits; \
             Multi-Queue gives whole units of 4 bits to what was used last"
        }
        _ => {
            "a quick run is short: over 200,000 lookups after as many, Springbloom reads 81.3% fewer blocks than Monkey under Zipf 1.2 \
             (3765eee)"
        }
    }
}

pub(super) fn figures() -> Vec<Figure> {
    vec![
        Figure("atc19-fig14a", "Figure 14a", "lookups of absent keys, against Monkey", by_popularity(true)),
        Figure(
            "atc19-fig14b",
            "Figure 14b",
            "reads by lookups of absent keys, against Monkey",
            by_popularity(false),
        ),
        Figure(
            "atc19-fig14c",
            "Figure 14c",
            "lookups by the share of absent keys, against Monkey",
            by_absent_share(),
        ),
        Figure(
            "atc19-fig14d",
            "Figure 14d",
            "reads in vain by lookups of absent keys in a store of four times the size, against Monkey",
            larger(),
        ),
        Figure("atc19-fig15", "Figure 15", "YCSB with four threads, against Monkey", ycsb()),
    ]
}

/// The least and the greatest value of the paper.
type Range = (f64, f64);

/// Popularities, with how many lookups of Monkey and how many fewer reads the paper gives. It gives the least and the greatest figure of
/// all, says that more skew brings more, and repeats the least for Zipf 0.99 in Figure 14c.
const POPULARITIES: [(&str, Range, Range); 3] = [
    ("zipf:0.99", (1.39, 1.39), (0.369, 0.369)),
    ("zipf:1.1", (1.39, 2.20), (0.369, 0.809)),
    ("zipf:1.2", (2.20, 2.20), (0.809, 0.809)),
];

fn name_of(popularity: &str) -> String {
    format!("absent-{popularity}")
}

/// With one thread for Figure 14, and with four: workload C of YCSB where all keys are absent.
fn absent(popularity: &str) -> Run {
    let arguments = format!("--zero-result 1 --distribution {popularity} --threads 1,4");
    LEVELDB.brief_reads(&name_of(popularity), &arguments)
}

fn by_popularity(is_timed: bool) -> Here {
    let claims = POPULARITIES.into_iter().flat_map(|(popularity, lookups, fewer)| {
        SUBJECTS.map(|(whose, config)| {
            let of = |name, config| LEVELDB.point(&name_of(popularity), name, config).of("threads", "1");
            if is_timed {
                let ours = ratio(of(RATE, config), of(RATE, "monkey-bloom:4"));
                let reads = |config| of(READS, config);
                Claim::between(format!("lookups of Monkey, {popularity}"), whose, lookups, ours)
                    .timed()
                    .counted(ratio(reads("monkey-bloom:4"), reads(config)))
            } else {
                let ours = reduction(of(READS, config), of(READS, "monkey-bloom:4"));
                Claim::between(format!("fewer reads than Monkey, {popularity}"), whose, fewer, ours)
                    .shown(Shown::Percent)
            }
            .otherwise(otherwise(whose))
        })
    });
    measured(POPULARITIES.map(|(popularity, ..)| absent(popularity)).into(), claims.collect())
}

/// Shares of lookups for absent keys, with the runs that have them.
const ABSENT_SHARES: [(&str, &str); 5] = [
    ("0%", "absent-share-0"),
    ("25%", "absent-share-0.25"),
    ("50%", "reads"),
    ("75%", "absent-share-0.75"),
    ("100%", "absent-zipf:0.99"),
];

fn absent_share_runs() -> Vec<Run> {
    let of = |(_, name): (&str, &str)| match name.strip_prefix("absent-share-") {
        Some(share) => LEVELDB.brief_reads(name, &format!("--zero-result {share}")),
        None if name == "reads" => plain(LEVELDB),
        None => absent("zipf:0.99"),
    };
    ABSENT_SHARES.map(of).into()
}

/// Lookups of each subject divided by those of `baseline`, called `name`. The paper gives `(without, all)` for no absent keys and for
/// nothing else; for shares between them, something between. `otherwise` says why it is not reached.
pub(super) fn lookups_by_absent_share(
    (baseline, name): (&'static str, &str),
    (without, all): Range,
    otherwise: impl Fn(Whose) -> &'static str,
) -> Here {
    let claims = ABSENT_SHARES.iter().flat_map(|&(percent, run)| {
        SUBJECTS.map(|(whose, config)| {
            let [rate, reads] = [RATE, READS]
                .map(|figure| move |config| LEVELDB.point(run, figure, config).of("threads", "1"));
            let paper = match percent {
                "0%" => (without, without),
                "100%" => (all, all),
                _ => (without, all),
            };
            let says = format!("lookups of {name}, {percent} for absent keys");
            let claim = Claim::between(says, whose, paper, ratio(rate(config), rate(baseline))).timed();
            let claim = claim.counted(ratio(reads(baseline), reads(config))).otherwise(otherwise(whose));
            claim.limit(perfect_ratio(|name| LEVELDB.point(run, name, baseline).of("threads", "1")))
        })
    });
    measured(absent_share_runs(), claims.collect())
}

fn by_absent_share() -> Here {
    lookups_by_absent_share(("monkey-bloom:4", "Monkey"), (1.16, 1.39), otherwise)
}

/// LevelDB's tree with so many records of 1,000 bytes, simulated, with the units and settings of each subject.
pub(super) fn store(records: &str, suffix: &str, arguments: &str) -> [Run; 2] {
    SUBJECTS.map(|(whose, _)| {
        let filters = match whose {
            Whose::Published => {
                "bloom,monkey-bloom,multi-queue --units bloom:6x4 --segment-data-bytes 4MiB --no-negative-cache"
            }
            _ => "bloom,monkey-bloom,benefit",
        };
        let both = format!(
            "simulate --tree leveldb --records {records} --record-bytes 1000 --bits 4 --filters {filters} {arguments}"
        );
        let name = store_name(records, suffix, whose);
        Run::springbloom(name, None, &both, "--segments 1000", "--segments 4000 --salts 3")
    })
}

fn store_name(records: &str, suffix: &str, whose: Whose) -> String {
    let whose = if whose == Whose::Published { "-published" } else { "" };
    format!("store-{records}{suffix}{whose}")
}

/// Simulated reads in vain of a filter in such a run; `None` for the subject.
pub(super) fn in_store(records: &str, suffix: &str, whose: Whose, filter: Option<&'static str>) -> Point {
    let policy = if whose == Whose::Published { "multi-queue" } else { "benefit" };
    point(store_name(records, suffix, whose), "wasted_reads_per_get").of("config", filter.unwrap_or(policy))
}

fn larger() -> Here {
    const SUFFIX: &str = "-absent";
    let claims = [("100M", "100 GB"), ("400M", "400 GB")].into_iter().flat_map(|(records, size)| {
        SUBJECTS.map(|(whose, _)| {
            let of = |filter| in_store(records, SUFFIX, whose, filter);
            let says = format!("fewer reads in vain than Monkey, {size}, simulated");
            Claim::between(says, whose, (0.369, 0.809), reduction(of(None), of(Some("monkey-bloom"))))
                .shown(Shown::Percent)
                .otherwise(otherwise(whose))
        })
    });
    let runs = ["100M", "400M"].into_iter().flat_map(|records| store(records, SUFFIX, "--zero-result 1"));
    measured(runs.collect(), claims.collect())
}

/// By Zipf constant: the paper's figures for workloads C and D.
const YCSB: [(&str, [f64; 2]); 2] = [("0.99", [1.29, 1.20]), ("1.2", [1.99, 1.89])];

fn ycsb() -> Here {
    // D asks for the latest keys; its constant is that of the same law over their age.
    let d = |zipf: &str| {
        let arguments = format!("--workload d --zero-result 1 --threads 4 --distribution latest:{zipf}");
        LEVELDB.brief_reads(&format!("absent-ycsb-d-{zipf}"), &arguments)
    };
    let claims = YCSB.into_iter().flat_map(|(zipf, papers)| {
        ["C", "D"].into_iter().zip(papers).flat_map(move |(letter, paper)| {
            let run =
                if letter == "C" { format!("absent-zipf:{zipf}") } else { format!("absent-ycsb-d-{zipf}") };
            SUBJECTS.map(|(whose, config)| {
                let of = |figure, config| LEVELDB.point(&run, figure, config).of("threads", "4");
                let says = format!("operations of Monkey, workload {letter}, Zipf {zipf}");
                Claim::new(says, whose, paper, ratio(of(RATE, config), of(RATE, "monkey-bloom:4")))
                    .timed()
                    .counted(ratio(of(READS, "monkey-bloom:4"), of(READS, config)))
                    .otherwise(otherwise(whose))
            })
        })
    });
    let runs = YCSB.into_iter().flat_map(|(zipf, _)| [absent(&format!("zipf:{zipf}")), d(zipf)]);
    measured(runs.collect(), claims.collect())
}
