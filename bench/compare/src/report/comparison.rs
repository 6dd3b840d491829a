//! The report of `compare`.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::sizes::Size;
use springbloom_console::{TextTable, distinct};
use springbloom_records::{Figure, Unit, labels};

use crate::database::open::UNITS;
use crate::report::Header;
use crate::report::baseline::baseline;
use crate::report::summary::{self, Subject};
use crate::run::{Latency, LoadRow, Row};
use crate::spread::Spread;

/// The record of the run, all rows with medians over salts, and the loads that were measured, as one JSON document.
pub(crate) fn write_json(
    out: &mut impl Write,
    header: &Header,
    rows: &[Row],
    loads: &[LoadRow],
) -> Result<()> {
    #[derive(Serialize)]
    struct Detail<'a> {
        baseline: &'a str,
        rows: &'a [Row],
        medians: &'a [Medians],
        loads: &'a [LoadRow],
        summary: Vec<String>,
    }
    let baseline = baseline(rows.iter().map(|row| row.config.as_str()));
    let medians = medians(rows, baseline);
    let summary = summary::sentences(&subjects(header, &medians));
    let figures = medians.iter().flat_map(Medians::figures).collect();
    header.write_record(out, figures, &Detail { baseline, rows, medians: &medians, loads, summary })
}

/// One line for each configuration and number of threads: medians over salts, with least and greatest where it matters.
pub(crate) fn write_table(out: &mut impl Write, header: &Header, rows: &[Row]) -> Result<()> {
    header.write_text(out)?;
    let baseline = baseline(rows.iter().map(|row| row.config.as_str()));
    let medians = medians(rows, baseline);
    writeln!(out, "reads of blocks per lookup, and lookups per second in turns with {baseline}")?;
    writeln!(out, "{}", main_table(&medians, baseline))?;
    for sentence in summary::sentences(&subjects(header, &medians)) {
        writeln!(out, "{sentence}")?;
    }
    Ok(())
}

fn rate(spread: Option<Spread>) -> String {
    spread.map_or_else(|| "-".to_owned(), |spread| spread.text(3))
}

/// What matters to most readers.
fn main_table(medians: &[Medians], baseline: &str) -> TextTable {
    let mut table = TextTable::new([
        "filters",
        "threads",
        "memory",
        "wasted reads",
        "all data reads",
        "filter reads",
        &format!("lookups/s to {baseline}"),
    ]);
    for line in medians {
        table.add_row([
            line.config.clone(),
            line.threads.to_string(),
            Size { bytes: line.resident_filter_bytes as u64 }.to_string(),
            rate(line.wasted_reads_per_get),
            rate(line.data_reads_per_get),
            rate(line.filter_reads_per_get),
            line.ops_ratio.text(2),
        ]);
    }
    table
}

/// The figures that are compared in words: with the most threads, where lookups were counted.
fn subjects<'a>(header: &Header, medians: &'a [Medians]) -> Vec<Subject<'a>> {
    let one_cache = header.block_cache.filter(|cache| cache.pays_for_all);
    let threads = medians.iter().map(|line| line.threads).max();
    let lines = medians.iter().filter(|line| Some(line.threads) == threads);
    lines
        .filter_map(|line| {
            Some(Subject {
                config: &line.config,
                memory_bytes: one_cache.map_or(line.resident_filter_bytes, |cache| cache.bytes as f64),
                lookups_per_s: line.ops_per_s_by_turn.clone(),
                wasted_reads: line.wasted_reads_per_get?,
                filter_reads: line.filter_reads_per_get.map_or(0.0, |spread| spread.median),
                has_filters: line.budget_bytes.get(UNITS).is_none_or(|&bytes| bytes > 0.0),
            })
        })
        .collect()
}

/// The figures of a configuration over all salts.
#[derive(Debug, Serialize)]
struct Medians {
    config: String,
    threads: u32,
    ops_per_s: Spread,
    /// In each turn. The rows have them, too.
    #[serde(skip)]
    ops_per_s_by_turn: Vec<f64>,
    /// To the baseline in the same round under the same mapping.
    ops_ratio: Spread,
    p50_us: f64,
    p99_us: f64,
    data_reads_per_get: Option<Spread>,
    wasted_reads_per_get: Option<Spread>,
    filter_reads_per_get: Option<Spread>,
    index_reads_per_get: Option<Spread>,
    resident_filter_bytes: f64,
    unit_reads: f64,
    visits_per_get: Option<f64>,
    digests_per_get: Option<f64>,
    cpu_us_per_op: f64,
    process_cpu_us_per_op: f64,
    load_s: Option<f64>,
    load_cpu_s: Option<f64>,
    load_written_bytes: Option<f64>,
    /// By kind of call: mean and 99th percentile in microseconds.
    latency_us: BTreeMap<&'static str, [f64; 2]>,
    /// Bytes of the budget of elastic filters at the end, by what they are spent on.
    budget_bytes: BTreeMap<&'static str, f64>,
}

impl Medians {
    fn figures(&self) -> Vec<Figure> {
        let of = || labels([("config", self.config.clone()), ("threads", self.threads.to_string())]);
        let single = |name, value: Option<f64>, unit| Some(Figure::new(name, of(), value?, unit));
        let spread = |name, value: Option<Spread>, unit| Some(value?.figure(name, of(), unit));
        let figures = [
            spread("lookups_per_s", Some(self.ops_per_s), Unit::PerSecond),
            spread("lookups_ratio", Some(self.ops_ratio), Unit::TimeRatio),
            single("p50_us", Some(self.p50_us), Unit::Microseconds),
            single("p99_us", Some(self.p99_us), Unit::Microseconds),
            spread("data_reads_per_get", self.data_reads_per_get, Unit::PerLookup),
            spread("wasted_reads_per_get", self.wasted_reads_per_get, Unit::PerLookup),
            spread("filter_reads_per_get", self.filter_reads_per_get, Unit::PerLookup),
            spread("index_reads_per_get", self.index_reads_per_get, Unit::PerLookup),
            single("filter_bytes", Some(self.resident_filter_bytes), Unit::Bytes),
            single("unit_reads", Some(self.unit_reads), Unit::Count),
            single("tables_per_get", self.visits_per_get, Unit::PerLookup),
            single("digests_per_get", self.digests_per_get, Unit::PerLookup),
            single("cpu_us_per_op", Some(self.cpu_us_per_op), Unit::Microseconds),
            single("load_s", self.load_s, Unit::Seconds),
            single("load_written_bytes", self.load_written_bytes, Unit::Bytes),
        ];
        let labelled = |label: &str, value: &str| {
            of().into_iter().chain([(label.to_owned(), value.to_owned())]).collect()
        };
        let calls = self.latency_us.iter().flat_map(|(call, [mean, p99])| {
            [("call_mean_us", *mean), ("call_p99_us", *p99)]
                .map(|(name, us)| Figure::new(name, labelled("call", call), us, Unit::Microseconds))
        });
        let parts = self
            .budget_bytes
            .iter()
            .map(|(part, bytes)| Figure::new("budget_bytes", labelled("part", part), *bytes, Unit::Bytes));
        figures.into_iter().flatten().chain(calls).chain(parts).collect()
    }
}

/// By configuration and number of threads, in the order of the rows.
fn medians(rows: &[Row], baseline: &str) -> Vec<Medians> {
    let mut groups = distinct(rows.iter().map(|row| (row.config.as_str(), row.threads)));
    groups.sort_by_key(|&(_, threads)| threads);
    groups
        .into_iter()
        .filter_map(|(config, threads)| {
            let group = || rows.iter().filter(move |row| row.config == config && row.threads == threads);
            let middle =
                |figure: fn(&Row) -> f64| Spread::of(group().map(figure)).map(|spread| spread.median);
            let rate = |figure: fn(&Row) -> Option<f64>| Spread::of(group().filter_map(figure));
            let ratios = group().flat_map(|row| {
                let rival = |other: &&Row| {
                    other.config == baseline && other.threads == threads && other.salt == row.salt
                };
                let theirs = rows.iter().find(rival).map_or(&[][..], |rival| &rival.ops_per_s_by_round);
                row.ops_per_s_by_round.iter().zip(theirs).map(|(ours, theirs)| ours / theirs)
            });
            Some(Medians {
                config: config.to_owned(),
                threads,
                ops_per_s: Spread::of(group().map(|row| row.ops_per_s))?,
                ops_per_s_by_turn: group().flat_map(|row| row.ops_per_s_by_round.iter().copied()).collect(),
                ops_ratio: Spread::of(ratios)?,
                p50_us: middle(|row| row.p50_us)?,
                p99_us: middle(|row| row.p99_us)?,
                data_reads_per_get: rate(|row| row.data_reads_per_get),
                wasted_reads_per_get: rate(|row| row.wasted_reads_per_get),
                filter_reads_per_get: rate(|row| row.filter_reads_per_get),
                index_reads_per_get: rate(|row| row.index_reads_per_get),
                resident_filter_bytes: middle(|row| row.resident_filter_bytes as f64)?,
                unit_reads: middle(|row| row.unit_reads as f64)?,
                visits_per_get: rate(|row| row.visits_per_get).map(|spread| spread.median),
                digests_per_get: rate(|row| row.digests_per_get).map(|spread| spread.median),
                cpu_us_per_op: middle(|row| row.cpu_us_per_op)?,
                process_cpu_us_per_op: middle(|row| row.process_cpu_us_per_op)?,
                // The same in all rows of a configuration.
                load_s: group().find_map(|row| row.load_s),
                load_cpu_s: group().find_map(|row| row.load_cpu_s),
                load_written_bytes: group().find_map(|row| row.load_written_bytes),
                latency_us: distinct(group().flat_map(|row| row.latency_us.keys().copied()))
                    .into_iter()
                    .filter_map(|call| {
                        let middle = |figure: fn(&Latency) -> f64| {
                            Some(
                                Spread::of(group().filter_map(|row| row.latency_us.get(call)).map(figure))?
                                    .median,
                            )
                        };
                        Some((call, [middle(|latency| latency.mean)?, middle(|latency| latency.p99)?]))
                    })
                    .collect(),
                budget_bytes: distinct(group().flat_map(|row| row.budget_bytes.keys().copied()))
                    .into_iter()
                    .filter_map(|part| {
                        let bytes =
                            group().filter_map(|row| row.budget_bytes.get(part)).map(|&bytes| bytes as f64);
                        Some((part, Spread::of(bytes)?.median))
                    })
                    .collect(),
            })
        })
        .collect()
}
