//! BloomFlash, ICDCS'11.

use super::figures::{just, point, ratio, reduction};
use super::stores::measured;
use crate::experiment::{Claim, Experiment, Here, Holds, Paper, Shown, Whose};
use crate::run::Run;

const FILTER: (&str, &str) = ("flash/bench", "filter");
const SAME_VALUES: &str = "Tables II and III have the values of this figure for both designs: bloomflash-table2 and bloomflash-table3.";

pub(super) fn experiments() -> Vec<Experiment> {
    let experiment = |id, place, shows, here| Experiment { id, paper: Paper::BloomFlash, place, shows, here };
    vec![
        experiment(
            "bloomflash-fig2",
            "Figure 2",
            "reads and writes of a drive, in order and at random",
            Here::Not("It measures a drive of 2009; the disk here is a virtual one that others share."),
        ),
        experiment("bloomflash-fig4", "Figure 4", "a flat filter with and without a buffer", flat_buffer()),
        experiment(
            "bloomflash-fig5",
            "Figure 5",
            "a hierarchical filter on two drives",
            Here::Not(SAME_VALUES),
        ),
        experiment(
            "bloomflash-table2",
            "Table II",
            "operations per second, hierarchical against flat",
            hierarchical(),
        ),
        experiment(
            "bloomflash-table3",
            "Table III",
            "time of a lookup, hierarchical against flat",
            latency(),
        ),
        experiment(
            "bloomflash-table4-5",
            "Tables 4 and 5",
            "not in the published text",
            Here::Not("The published paper ends its tables with Table III."),
        ),
        experiment("bloomflash-fig6", "Figure 6", "sizes of groups that are flushed together", groups()),
        experiment("bloomflash-fig7", "Figure 7", "sizes of the buffer", buffers()),
        experiment("bloomflash-balance", "section III-D", "how evenly keys are spread over pages", balance()),
    ]
}

fn bench(name: &str, sections: &str) -> Run {
    let settings = |mebibytes, milliseconds, rounds| {
        [
            ("SPRINGBLOOM_BENCH_MIB", mebibytes),
            ("SPRINGBLOOM_BENCH_MILLISECONDS", milliseconds),
            ("SPRINGBLOOM_BENCH_ROUNDS", rounds),
        ]
    };
    Run::bench(name, FILTER, sections, &settings(64, 600, 1), &settings(256, 2000, 3))
}

fn mixes() -> Run {
    bench("flash-filter-mixes", "mixes")
}

fn policies() -> Run {
    bench("flash-filter-policies", "policies")
}

fn mix(name: &'static str, trace: &str, buffer: &str, filter: &str) -> super::figures::Point {
    point("flash-filter-mixes", name).of("trace", trace).of("buffer", buffer).of("filter", filter)
}

/// By workload: its trace here, and the paper's ratios without a buffer, dirtiest group first, in order.
const WORKLOADS: [(&str, &str, [f64; 3], [f64; 3]); 2] = [
    ("Xbox", "XboxZipf", [7.00, 5.47, 5.33], [7.38, 5.74, 5.60]),
    ("dedupe", "Dedupe", [5.41, 5.13, 5.11], [7.17, 5.76, 5.73]),
];
const BUFFERS: [&str; 3] = ["none", "dirtiest group", "sequential"];
const DISK_TIME: &str = "single operations wait for the disk, and its time varies";
const FLAT: &str = "flat, all read";

fn hierarchical() -> Here {
    let claims = WORKLOADS.into_iter().flat_map(|(workload, trace, papers, _)| {
        BUFFERS.into_iter().zip(papers).flat_map(move |(buffer, paper)| {
            let of = |name, filter| mix(name, trace, buffer, filter);
            let rate = ratio(of("operations_per_s", "hierarchical"), of("operations_per_s", FLAT));
            let reads = || ratio(of("page_reads", FLAT), of("page_reads", "hierarchical"));
            [
                Claim::new(
                    format!("operations of the flat filter, {workload}, buffer: {buffer}"),
                    Whose::Springbloom,
                    paper,
                    rate,
                )
                .timed()
                .holds(Holds::Within(1.25))
                .counted(reads())
                .otherwise(DISK_TIME),
                Claim::new(
                    format!("page reads of the flat filter for each of ours, {workload}, buffer: {buffer}"),
                    Whose::Springbloom,
                    6.0,
                    reads(),
                )
                .holds(Holds::Within(1.05)),
            ]
        })
    });
    measured(vec![mixes()], claims.collect())
}

fn latency() -> Here {
    let claims = WORKLOADS.into_iter().flat_map(|(workload, trace, _, papers)| {
        BUFFERS.into_iter().zip(papers).map(move |(buffer, paper)| {
            let against =
                |name| ratio(mix(name, trace, buffer, FLAT), mix(name, trace, buffer, "hierarchical"));
            let says = format!("time of a lookup of the flat filter, {workload}, buffer: {buffer}");
            Claim::new(says, Whose::Springbloom, paper, against("lookup_us"))
                .timed()
                .holds(Holds::Within(1.25))
                .counted(against("page_reads"))
                .otherwise(DISK_TIME)
        })
    });
    measured(vec![mixes()], claims.collect())
}

fn flat_buffer() -> Here {
    let papers = [("Xbox", "XboxZipf", 0.77), ("dedupe", "Dedupe", 0.87)];
    let claims = papers.map(|(workload, trace, paper)| {
        let writes = |buffer| mix("page_writes", trace, buffer, FLAT);
        let says = format!("fewer page writes of the flat filter with a buffer, {workload}");
        Claim::new(says, Whose::Setting, paper, reduction(writes("dirtiest group"), writes("none")))
            .shown(Shown::Percent)
            .holds(Holds::Within(1.2))
            .otherwise(
                "few insertions happen in a short run, and the buffer's pages are written in groups of 16",
            )
    });
    measured(vec![mixes()], claims.into())
}

fn groups() -> Here {
    let of = |name, group: &str| {
        let point = point("flash-filter-policies", name).of("order", "DirtiestGroupFirst").of("group", group);
        point.of("buffer", "1.8 bits/key")
    };
    let claims = vec![
        Claim::new(
            "pages of a write with groups of 16 pages, of those with groups of one",
            Whose::Springbloom,
            8.0,
            ratio(of("pages_per_write", "16"), of("pages_per_write", "1")),
        ),
        Claim::new(
            "insertions per second with groups of 16 pages, of those with groups of one (the paper: 1.27 / 1.09, dedupe)",
            Whose::Springbloom,
            1.27 / 1.09,
            ratio(of("insertions_per_s", "16"), of("insertions_per_s", "1")),
        )
        .timed(),
    ];
    measured(vec![policies()], claims)
}

fn buffers() -> Here {
    let of = |name, factor: &str| {
        let point = point("flash-filter-policies", name).of("order", "DirtiestGroupFirst").of("group", "16");
        point.of("buffer", format!("CacheSizeFactor {factor}"))
    };
    let steps = [("4", "1"), ("16", "4"), ("64", "16")];
    let claims = steps.map(|(more, less)| {
        let says = format!(
            "bytes written with CacheSizeFactor {less}, of those with {more}: more (the paper: throughput rises)"
        );
        Claim::new(
            says,
            Whose::Springbloom,
            1.0,
            ratio(of("page_bytes_per_insertion", less), of("page_bytes_per_insertion", more)),
        )
    });
    measured(vec![policies()], claims.into())
}

fn balance() -> Here {
    let name = "flash-filter-rates";
    let claims = vec![
        Claim::new(
            "keys of the fullest page, of those of the emptiest",
            Whose::Springbloom,
            1.1,
            just(point(name, "page_balance")),
        )
        .holds(Holds::Within(1.1)),
        Claim::new(
            "false positive rate of the hierarchical filter, of the flat one's (the paper: about the same)",
            Whose::Springbloom,
            1.02,
            ratio(
                point(name, "false_positive_rate").of("filter", "Hierarchical"),
                point(name, "false_positive_rate").of("filter", "Flat"),
            ),
        )
        .holds(Holds::AtMost)
        .shown(Shown::Number("times")),
    ];
    measured(vec![bench(name, "rates")], claims)
}
