//! A [`Stats`] snapshot as Prometheus metrics. Names and meanings: [`METRICS`], and the table in `docs/guide.md`.

use std::ops::Deref;

use springbloom_manager::{LevelUnits, ScopeCounts, Stats};

use super::families::FamilyStats;

/// What an HTTP server says the text is: `Content-Type`.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// One number of a snapshot, with labels by name.
type Sample = (Vec<(&'static str, String)>, f64);

/// A metric.
pub struct Metric {
    /// Name, without the `_total` that counters get.
    pub name: &'static str,
    /// Its help text.
    pub help: &'static str,
    /// Whether it is a counter.
    pub is_counter: bool,
    samples: fn(&Figures) -> Vec<Sample>,
}

/// What an engine's adapter counts, as the header names it.
#[repr(C)]
#[derive(Clone, Copy)]
#[expect(dead_code, reason = "the adapter makes them")]
pub(crate) enum Counted {
    WithoutUnits,
    WrittenWithoutUnits,
    Verified,
    WrongRejections,
    /// The manager has the count.
    BlockReads,
    /// The budget has the count.
    SoughtTables,
}

/// Where metrics come from.
pub(crate) struct Figures {
    pub(crate) stats: Stats,
    /// By the first four of [`Counted`].
    pub(crate) counts: [u64; 4],
    pub(crate) builder_bytes: u64,
    pub(crate) families: Vec<FamilyStats>,
}

impl Deref for Figures {
    type Target = Stats;

    fn deref(&self) -> &Stats {
        &self.stats
    }
}

fn one(value: impl Into<u64>) -> Vec<Sample> {
    vec![(Vec::new(), value.into() as f64)]
}

fn bytes(value: usize) -> Vec<Sample> {
    one(value as u64)
}

fn by(label: &'static str, samples: &[(&str, f64)]) -> Vec<Sample> {
    samples.iter().map(|&(of_label, value)| (vec![(label, of_label.to_owned())], value)).collect()
}

const fn gauge(name: &'static str, help: &'static str, samples: fn(&Figures) -> Vec<Sample>) -> Metric {
    Metric { name, help, is_counter: false, samples }
}

const fn counter(name: &'static str, help: &'static str, samples: fn(&Figures) -> Vec<Sample>) -> Metric {
    Metric { name, help, is_counter: true, samples }
}

/// The samples of each column family, its name before their labels.
fn by_family(figures: &Figures, samples: impl Fn(&FamilyStats) -> Vec<Sample>) -> Vec<Sample> {
    let named = |family: &FamilyStats| {
        let name = [("database", family.database.clone()), ("family", family.family.clone())];
        samples(family).into_iter().map(move |(labels, value)| ([&name[..], &labels].concat(), value))
    };
    figures.families.iter().flat_map(named).collect()
}

/// All metrics there are.
pub const METRICS: &[Metric] = &[
    gauge("springbloom_budget_bytes", "Budget in force", |s| bytes(s.budget_bytes)),
    gauge("springbloom_peak_bytes", "Most bytes ever in use", |s| bytes(s.peak_bytes)),
    gauge("springbloom_used_bytes", "Bytes in use, by purpose", |s| {
        let used = [
            ("units", s.used.units),
            ("bookkeeping", s.used.bookkeeping),
            ("buffers", s.used.buffers),
            ("loading", s.used.loading),
            ("garbage", s.used.garbage),
            ("indexes", s.used.indexes),
        ];
        by("kind", &used.map(|(kind, bytes)| (kind, bytes as f64)))
    }),
    gauge(
        "springbloom_builder_bytes",
        "Bytes outside the budget for units of tables that are being written",
        |s| one(s.builder_bytes),
    ),
    gauge("springbloom_resident_bytes", "Bytes of resident units, by level of the tree", |s| {
        levels(&s.levels, |level| level.unit_bytes as f64)
    }),
    gauge("springbloom_resident_units", "Resident units, by level of the tree", |s| {
        levels(&s.levels, |level| level.units() as f64)
    }),
    gauge("springbloom_resident_indexes", "Tables whose index is resident", |s| bytes(s.resident_indexes)),
    gauge("springbloom_tables", "Known tables", |s| bytes(s.tables)),
    gauge("springbloom_segments", "Segments of known tables", |s| bytes(s.segments)),
    gauge(
        "springbloom_expected_wasted_reads_per_visit",
        "Wasted reads to expect per visit of a lookup to a segment",
        |s| vec![(Vec::new(), s.expected_wasted_reads_per_visit)],
    ),
    counter("springbloom_visits", "Visits of lookups to segments, by how they ended", |s| {
        let outcomes = [
            ("rejected", s.outcomes.rejected as f64),
            ("wasted_read", s.outcomes.wasted_reads as f64),
            ("true_positive", s.outcomes.true_positives as f64),
            ("not_read", s.outcomes.not_read as f64),
        ];
        by("outcome", &outcomes)
    }),
    counter("springbloom_block_reads", "Blocks that lookups read because the block cache lacked them", |s| {
        one(s.outcomes.block_reads)
    }),
    counter("springbloom_units_loaded", "Units that were read", |s| one(s.loads)),
    counter("springbloom_unit_reads", "Reads that brought units", |s| one(s.load_reads)),
    counter("springbloom_unit_read_bytes", "Bytes of units that were read", |s| one(s.load_bytes)),
    counter("springbloom_units_evicted", "Units that were given up", |s| one(s.evictions)),
    counter("springbloom_units_corrupt", "Reads of units that found them corrupt", |s| one(s.corrupt_units)),
    counter("springbloom_unit_reads_failed", "Reads of units that failed", |s| one(s.failed_reads)),
    gauge("springbloom_tables_failing", "Tables whose units cannot be read at present", |s| {
        bytes(s.failing_tables)
    }),
    counter("springbloom_tables_refused", "Tables without room for their bookkeeping", |s| {
        one(s.refused_tables)
    }),
    gauge("springbloom_tables_without_room", "Open tables without room for their bookkeeping", |s| {
        bytes(s.stats.tables_without_room)
    }),
    counter("springbloom_tables_without_units", "Tables without filter units that were opened", |s| {
        one(s.counts[Counted::WithoutUnits as usize])
    }),
    counter(
        "springbloom_tables_written_without_units",
        "Tables that were written without filter units",
        |s| one(s.counts[Counted::WrittenWithoutUnits as usize]),
    ),
    counter("springbloom_rejections_verified", "Rejected keys that were looked up all the same", |s| {
        one(s.counts[Counted::Verified as usize])
    }),
    counter("springbloom_rejections_wrong", "Rejected keys that the table holds: a wrong answer", |s| {
        one(s.counts[Counted::WrongRejections as usize])
    }),
    counter("springbloom_visits_dropped", "Visits that the policy never saw", |s| one(s.dropped_visits)),
    counter("springbloom_thread_panics", "Panics of Springbloom's threads, which continue", |s| {
        one(s.thread_panics)
    }),
    gauge("springbloom_family_tables", "Known tables of a column family", |s| {
        by_family(s, |family| bytes(family.tables))
    }),
    gauge(
        "springbloom_family_resident_bytes",
        "Bytes of resident units of a column family, by level of the tree",
        |s| by_family(s, |family| levels(&family.levels, |level| level.unit_bytes as f64)),
    ),
    gauge(
        "springbloom_family_index_bytes",
        "Bytes of resident indexes of a column family, by level of the tree",
        |s| by_family(s, |family| levels(&family.levels, |level| level.index_bytes as f64)),
    ),
    counter(
        "springbloom_family_visits",
        "Visits to tables of a column family, by how they ended: an estimate",
        |s| {
            by_family(s, |family| {
                let ScopeCounts { rejected, wasted_reads, passed, .. } = family.counts;
                let outcomes = [("rejected", rejected), ("wasted_read", wasted_reads), ("passed", passed)];
                by("outcome", &outcomes.map(|(outcome, visits)| (outcome, visits as f64)))
            })
        },
    ),
    counter("springbloom_family_units_loaded", "Units of a column family that were read", |s| {
        by_family(s, |family| one(family.counts.loads))
    }),
];

fn levels(levels: &[LevelUnits], value: impl Fn(&LevelUnits) -> f64) -> Vec<Sample> {
    let name = |level: Option<u8>| level.map_or("unknown".to_owned(), |level| level.to_string());
    levels.iter().map(|level| (vec![("level", name(level.level))], value(level))).collect()
}

/// A snapshot in the text format that Prometheus scrapes (OpenMetrics).
pub(crate) fn text_of(figures: &Figures) -> String {
    let mut text = String::new();
    for Metric { name, help, is_counter, samples } in METRICS {
        let (kind, total) = if *is_counter { ("counter", "_total") } else { ("gauge", "") };
        text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (labels, value) in samples(figures) {
            let labels: Vec<_> = labels.into_iter().map(labelled).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let value = if *is_counter { (value as u64).to_string() } else { format!("{value:?}") };
            text += &format!("{name}{total}{labels} {value}\n");
        }
    }
    text + "# EOF\n"
}

fn labelled((name, value): (&str, String)) -> String {
    format!("{name}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_metric_is_in_the_text_once_and_in_the_document() {
        let mut stats = Stats::default();
        (stats.budget_bytes, stats.loads, stats.expected_wasted_reads_per_visit) = (1 << 20, 7, 0.25);
        stats.tables_without_room = 3;
        stats.levels = vec![LevelUnits {
            level: Some(3),
            segments: vec![1, 2, 3],
            keys: 9,
            unit_bytes: 64,
            ..LevelUnits::default()
        }];
        let families = vec![FamilyStats {
            database: "/data/a \"b\"".to_owned(),
            family: "default".to_owned(),
            tables: 4,
            levels: vec![LevelUnits { unit_bytes: 32, index_bytes: 500, ..LevelUnits::default() }],
            counts: ScopeCounts { rejected: 5, wasted_reads: 6, passed: 7, loads: 8 },
        }];
        let figures = Figures { stats, counts: [0, 2, 5, 1], builder_bytes: 9, families };
        let text = text_of(&figures);
        for line in [
            "springbloom_budget_bytes 1048576.0",
            "springbloom_units_loaded_total 7",
            "springbloom_tables_written_without_units_total 2",
            "springbloom_rejections_verified_total 5",
            "springbloom_rejections_wrong_total 1",
            "springbloom_tables_without_room 3.0",
            "springbloom_builder_bytes 9.0",
            "springbloom_resident_units{level=\"3\"} 8.0",
            "springbloom_visits_total{outcome=\"wasted_read\"} 0",
            "springbloom_expected_wasted_reads_per_visit 0.25",
            r#"springbloom_family_tables{database="/data/a \"b\"",family="default"} 4.0"#,
            r#"springbloom_family_resident_bytes{database="/data/a \"b\"",family="default",level="unknown"} 32.0"#,
            r#"springbloom_family_index_bytes{database="/data/a \"b\"",family="default",level="unknown"} 500.0"#,
            r#"springbloom_family_visits_total{database="/data/a \"b\"",family="default",outcome="passed"} 7"#,
            r#"springbloom_family_units_loaded_total{database="/data/a \"b\"",family="default"} 8"#,
        ] {
            assert!(text.lines().any(|written| written == line), "no {line} in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
        let names: HashSet<_> = METRICS.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), METRICS.len());
        let document = include_str!("../../../../docs/guide.md");
        for metric in METRICS {
            let total = if metric.is_counter { "_total" } else { "" };
            assert!(
                document.contains(&format!("| `{}{total}` |", metric.name)),
                "{} is not documented",
                metric.name
            );
            let samples = (metric.samples)(&figures);
            assert!(!samples.is_empty(), "{} has no sample", metric.name);
            for (label, _) in samples.into_iter().flat_map(|(labels, _)| labels) {
                let row = document.lines().find(|line| line.contains(&format!("`{}{total}`", metric.name)));
                assert!(
                    row.is_some_and(|row| row.contains(&format!("`{label}`"))),
                    "{label} of {}",
                    metric.name
                );
            }
        }
        assert!(document.contains(CONTENT_TYPE));
        let header = include_str!("../../include/springbloom_abi.h");
        assert!(header.contains(&format!("SB_METRICS_CONTENT_TYPE \"{CONTENT_TYPE}\"")));
    }
}
