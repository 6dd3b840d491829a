//! The sections of the page.

use anyhow::Result;
use maud::{Markup, html};
use springbloom_console::distinct;
use springbloom_console::sizes::Size as Bytes;
use springbloom_records::Record;

use super::chart::{self, COLOURS, Series, hex, place_of};
use crate::experiment::{Claim, Experiment, Here, Paper, Whose};
use crate::lab::{Lab, commits};
use crate::tables::Table;
use crate::verdict::{Finding, Judged, Verdict, judge, rows};

/// Ids and titles, in order.
pub(super) const TITLES: [(&str, &str); 7] = [
    ("verdicts", "Verdicts"),
    ("memory", "Wasted reads by memory"),
    ("throughput", "Throughput"),
    ("budget", "What memory is spent on"),
    ("tables", "Further tables"),
    ("papers", "Papers against ours"),
    ("records", "Records"),
];

fn section(id: &str, content: Markup) -> Markup {
    let title = TITLES.iter().find(|(known, _)| *known == id).map_or(id, |(_, title)| title);
    html! {
        section id=(id) {
            h2 { (title) }
            (content)
        }
    }
}

pub(super) fn introduction(lab: &Lab) -> Markup {
    let records: Vec<_> = lab.iter().map(|(_, record)| record).collect();
    let machines = distinct(records.iter().map(|record| {
        let machine = &record.machine;
        let memory = Bytes { bytes: machine.memory_bytes };
        format!("{}, {} cores, {memory}, Linux {}", machine.cpu, machine.cores, machine.kernel)
    }));
    let noisy = records.iter().filter(|record| !record.was_quiet()).count();
    html! {
        p {
            "A wasted read is a read of a data block that does not hold the key. Springbloom keeps the filter units in memory that save "
            "the most of them. This page shows what was measured, against the filters of RocksDB and against the figures of the papers."
        }
        @if records.is_empty() {
            p.warning { "There are no records yet. Run " code { "springbloom reproduce --quick all" } "." }
        } @else {
            p.soft {
                (records.len()) " records, at " (commits(records.iter().copied())) ". " (machines.join("; ")) "."
            }
        }
        @if noisy > 0 {
            p.warning {
                strong { "Measured under load. " }
                "Other work ran on the machine beside " (noisy) " of the " (records.len()) " runs. Counts (reads, bytes) do not depend on "
                "it. Throughput and times do: they are marked \u{201c}by times\u{201d}."
            }
        }
    }
}

fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::HoldsInPart => "in-part",
        Verdict::DoesNotHold => "does-not-hold",
        Verdict::NotMeasured | Verdict::NotHere => "",
    }
}

/// All experiments of papers with their verdicts.
pub(super) fn verdicts(experiments: &[Experiment], lab: &Lab) -> Markup {
    let judged: Vec<_> = experiments
        .iter()
        .filter(|experiment| !experiment.has_no_claims())
        .map(|experiment| (experiment, judge(experiment, lab)))
        .collect();
    let count = |verdict| judged.iter().filter(|(_, judged)| judged.verdict == verdict).count();
    section(
        "verdicts",
        html! {
            p {
                "An experiment holds if each of its figures does: for the published system, built of Springbloom\u{2019}s parts, and for "
                "Springbloom. Below each verdict: how many of the paper\u{2019}s figures the published system reaches here, and how many "
                "Springbloom does."
            }
            ul.counts {
                @for verdict in Verdict::ALL {
                    li.(class(verdict)) { strong { (count(verdict)) } (verdict.name()) }
                }
            }
            @for paper in Paper::ALL.into_iter().filter(|paper| *paper != Paper::Own) {
                h3 { (paper.title()) }
                ul.tiles {
                    @for (experiment, judged) in judged.iter().filter(|(experiment, _)| experiment.paper == paper) {
                        li {
                            a.(class(judged.verdict)) href={ "#" (experiment.id) } title=(experiment.shows) {
                                strong { (experiment.place) }
                                (judged.verdict.name())
                                @for (whose, count) in judged.counts.iter().filter(|_| judged.count().measured > 0) {
                                    span.count { (whose.name()) " " (count) }
                                }
                            }
                        }
                    }
                }
            }
        },
    )
}

/// `elastic` of `elastic:4`; what follows an `@` stays.
fn family(config: &str) -> String {
    let (name, rest) = config.split_once(':').unwrap_or((config, ""));
    rest.split_once('@').map_or_else(|| name.to_owned(), |(_, own)| format!("{name}@{own}"))
}

/// Wasted reads of each family of filters by memory; ours first.
fn by_memory(record: &Record) -> (&'static str, Vec<Series>) {
    let wasted = record.figures.iter().filter(|figure| figure.name == "wasted_reads_per_get");
    let has_bytes = record.figures.iter().any(|figure| figure.name == "filter_bytes");
    let unit = if has_bytes { "memory, MiB" } else { "memory, bits per key" };
    let mut series: Vec<Series> = Vec::new();
    for figure in wasted {
        let labels: Vec<_> = figure.of.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let bytes = record.figure("filter_bytes", &labels).map(|figure| figure.value / f64::from(1 << 20));
        let bits = figure.of.get("bits_per_key").and_then(|bits| bits.parse().ok());
        let (Some(x), Some(config)) = (bytes.or(bits), figure.of.get("config")) else { continue };
        let name = family(config);
        let at = series.iter().position(|series| series.name == name).unwrap_or_else(|| {
            series.push(Series { name, points: Vec::new() });
            series.len() - 1
        });
        series[at].points.push((x, figure.value));
    }
    for line in &mut series {
        line.points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    series.sort_by_key(|series| !["elastic", "benefit"].contains(&series.name.as_str()));
    (unit, series)
}

fn legend(names: impl Iterator<Item = String>) -> Markup {
    html! {
        ul.legend {
            @for (at, name) in names.enumerate() {
                li { span style={ "background:" (hex(COLOURS[place_of(&name, at)])) } {} (name) }
            }
        }
    }
}

pub(super) fn memory(experiments: &[Experiment], lab: &Lab) -> Result<Markup> {
    let mut figures = Vec::new();
    let curves = experiments.iter().filter(
        |experiment| matches!(&experiment.here, Here::Tabled { layout, .. } if layout.is_by_memory()),
    );
    for experiment in curves {
        for (run, record) in experiment.runs().iter().filter_map(|run| Some((run, lab.get(&run.name)?))) {
            let (unit, series) = by_memory(record);
            let title = format!("Wasted reads per lookup by memory: {}", experiment.shows);
            let picture = chart::lines(&title, (unit, "wasted reads per lookup"), &series)?;
            figures.push(html! {
                figure id=(experiment.id) {
                    figcaption { strong { (experiment.place) } ": " (experiment.shows) ". Lower is better; the axis is logarithmic." }
                    (picture)
                    (legend(series.iter().map(|series| series.name.clone())))
                    details {
                        summary { "The numbers, and how they were measured" }
                        (numbers(unit, &series))
                        p.soft { code { (record.command.join(" ")) } " (run " (run.name) ")" }
                    }
                }
            });
        }
    }
    Ok(section(
        "memory",
        html! {
            @if figures.is_empty() {
                p { "Not measured yet: " code { "springbloom reproduce --quick memory" } }
            }
            div.charts { @for figure in figures { (figure) } }
        },
    ))
}

fn numbers(unit: &str, series: &[Series]) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { th scope="col" { "filter" } th scope="col" { (unit) } th scope="col" { "wasted reads per lookup" } } }
                tbody {
                    @for line in series {
                        @for (x, y) in &line.points {
                            tr { td { (line.name) } td.number { (format!("{x:.2}")) } td.number { (format!("{y:.4}")) } }
                        }
                    }
                }
            }
        }
    }
}

/// Runs whose lookups per second and budgets are shown.
const RATES: [(&str, &str); 5] = [
    ("setting-s1", "a leveled tree, half of the lookups for absent keys"),
    ("leveldb-reads", "LevelDB\u{2019}s tree, half of the lookups for absent keys"),
    ("rocksdb-reads", "RocksDB\u{2019}s tree, half of the lookups for absent keys"),
    ("pebblesdb-reads", "a tiered tree, half of the lookups for absent keys"),
    ("memory", "small records, half of the lookups for absent keys"),
];

pub(super) fn throughput(lab: &Lab) -> Result<Markup> {
    let mut figures = Vec::new();
    for (run, called) in RATES {
        let Some(record) = lab.get(run) else { continue };
        let rates = record.figures.iter().filter(|figure| figure.name == "lookups_per_s");
        let rates = rates.filter(|figure| figure.of.get("threads").is_none_or(|threads| threads == "1"));
        let bars: Vec<_> = rates
            .filter_map(|figure| {
                let spread = figure.least.zip(figure.most).map(|(least, most)| (least / 1e3, most / 1e3));
                Some((figure.of.get("config")?.clone(), figure.value / 1e3, spread))
            })
            .collect();
        if bars.is_empty() {
            continue;
        }
        let load = record.other_work.filter(|_| !record.was_quiet()).map_or(String::new(), |cores| {
            format!(" Other programs kept {cores:.2} processors busy meanwhile.")
        });
        let title = format!("Thousand lookups per second, one thread: {called}");
        figures.push(html! {
            figure {
                figcaption { (title) "." (load) }
                (chart::bars(&title, "thousand lookups per second", &bars)?)
            }
        });
    }
    Ok(section(
        "throughput",
        html! {
            @if figures.is_empty() { p { "Not measured yet." } }
            div.charts { @for figure in figures { (figure) } }
        },
    ))
}

pub(super) fn budget(lab: &Lab) -> Result<Markup> {
    let mut figures = Vec::new();
    for (run, called) in RATES {
        let Some(record) = lab.get(run) else { continue };
        let spent = record.figures.iter().filter(|figure| figure.name == "budget_bytes");
        let spent = spent.filter(|figure| figure.of.get("threads").is_none_or(|threads| threads == "1"));
        let configs = distinct(spent.clone().filter_map(|figure| figure.of.get("config")));
        for config in configs.into_iter().filter(|config| config.ends_with(":4")) {
            let parts = spent.clone().filter(|figure| figure.of.get("config") == Some(config));
            let bars: Vec<_> = parts
                .filter_map(|figure| Some((figure.of.get("part")?.clone(), figure.value / 1024.0, None)))
                .collect();
            let title = format!("What the budget of {config} is spent on: {called}");
            figures.push(html! {
                figure { figcaption { (title) "." } (chart::bars(&title, "KiB", &bars)?) }
            });
        }
    }
    Ok(section(
        "budget",
        html! {
            p {
                "Units of filters, what is kept of each table and segment (bookkeeping), and absent keys that passed the units (negative "
                "cache)."
            }
            @if figures.is_empty() { p { "Not measured yet." } }
            div.charts { @for figure in figures { (figure) } }
        },
    ))
}

/// What was measured of Springbloom itself, except what the charts show filter by filter.
pub(super) fn tables(experiments: &[Experiment], lab: &Lab) -> Result<Markup> {
    let mut parts = Vec::new();
    for Experiment { id, shows, here, .. } in experiments {
        let Here::Tabled { runs, layout } = here else { continue };
        if layout.is_by_memory() || runs.iter().all(|run| lab.get(&run.name).is_none()) {
            continue;
        }
        let Table { titles, rows } = Table::of(layout, runs, lab)?.plain();
        parts.push(html! {
            details id=(id) {
                summary { strong { (shows) } " " span.soft { code { (id) } } }
                div.scroll {
                    table {
                        thead { tr { @for title in &titles { th { (title) } } } }
                        tbody { @for row in &rows { tr { @for cell in row { td { (cell) } } } } }
                    }
                }
            }
        });
    }
    Ok(section(
        "tables",
        html! { @if parts.is_empty() { p { "Not measured yet." } } @for part in parts { (part) } },
    ))
}

pub(super) fn papers(experiments: &[Experiment], lab: &Lab) -> Result<Markup> {
    let mut parts = Vec::new();
    for paper in Paper::ALL.into_iter().filter(|paper| *paper != Paper::Own) {
        let of_paper: Vec<_> = experiments.iter().filter(|experiment| experiment.paper == paper).collect();
        let judged: Vec<_> = of_paper.iter().map(|experiment| judge(experiment, lab)).collect();
        let known: Vec<_> =
            of_paper.iter().zip(&judged).filter(|(_, judged)| judged.count().measured > 0).collect();
        let names: Vec<_> = known.iter().map(|(experiment, _)| experiment.place).collect();
        let points: Vec<_> = known
            .iter()
            .enumerate()
            .flat_map(|(row, (_, judged))| {
                judged.findings.iter().flatten().map(move |finding| (row, finding.ratio, finding.holds))
            })
            .filter(|(_, ratio, _)| ratio.is_finite() && *ratio > 0.0)
            .collect();
        let title = format!("Ours divided by the paper\u{2019}s: {}", paper.title());
        let picture = if points.is_empty() {
            None
        } else {
            Some(chart::ratios(&title, "ours / paper", &names, &points)?)
        };
        parts.push(html! {
            h3 { (paper.title()) }
            @if let Some(picture) = picture {
                div.charts {
                    figure {
                        figcaption {
                            "Ours divided by the paper\u{2019}s value. A dot holds, a cross does not. Where less is better, left of 1 is "
                            "better."
                        }
                        (picture)
                    }
                }
            }
            @for (experiment, judged) in of_paper.iter().zip(&judged) {
                (details(experiment, judged, lab))
            }
        });
    }
    Ok(section("papers", html! { @for part in parts { (part) } }))
}

fn details(experiment: &Experiment, judged: &Judged, lab: &Lab) -> Markup {
    html! {
        details id=(experiment.id) {
            summary {
                strong { (experiment.place) } ": " (experiment.shows) " \u{2014} " (judged.text()) " "
                span.soft { code { (experiment.id) } }
            }
            @match &experiment.here {
                Here::Not(why) => p { (why) },
                Here::Tabled { .. } => {}
                Here::Measured { runs, claims } => {
                    (claims_table(claims, judged))
                    @for reason in &judged.reasons { p { strong { "Why not: " } (reason) "." } }
                    p.soft {
                        "Runs: "
                        @for (at, run) in runs.iter().enumerate() {
                            @if at > 0 { ", " }
                            @if lab.get(&run.name).is_some() {
                                a href={ "#run-" (run.name) } { (run.name) }
                            } @else {
                                (run.name) " (no record)"
                            }
                        }
                    }
                }
            }
        }
    }
}

fn claims_table(claims: &[Claim], judged: &Judged) -> Markup {
    let columns: Vec<_> = judged.counts.iter().map(|(whose, _)| *whose).collect();
    html! {
        table.claims {
            thead {
                tr {
                    th scope="col" { "figure" }
                    th scope="col" { "paper" }
                    @for whose in &columns { th scope="col" { (whose.name()) ", here" } }
                }
            }
            tbody {
                @for row in rows(claims, &judged.findings) {
                    tr {
                        td { (row.claim.says) @if row.claim.is_timed { span.soft { " (by times)" } } }
                        td.number data-name="paper" { (row.claim.paper_text()) }
                        @for whose in &columns {
                            @match row.cell(*whose) {
                                None => td {}
                                Some(None) => td data-name=(whose.name()) { "not measured" }
                                Some(Some(finding)) => { (found(row.claim, *whose, finding)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A figure of ours, with its ratio to the paper's.
fn found(claim: &Claim, whose: Whose, Finding { ours, ratio, holds, why, .. }: &Finding) -> Markup {
    html! {
        td.(class(if *holds { Verdict::Holds } else { Verdict::DoesNotHold })) data-name=(whose.name()) title=(why) {
            (claim.shown.text(*ours)) " "
            strong { @if *holds { "holds" } @else { "does not hold" } }
            span.soft { " (" (format!("{ratio:.2}")) " of the paper\u{2019}s)" }
        }
    }
}

pub(super) fn records(lab: &Lab) -> Markup {
    section(
        "records",
        html! {
            p { "Each record is a JSON file: the figures of one run, beside machine, commit, settings and seed. The command repeats it." }
            @for (run, record) in lab.iter() {
                details id={ "run-" (run) } {
                    summary {
                        strong { (run) } " "
                        span.soft {
                            (record.date) ", " (record.build.commit_name()) ", " (format!("{:.0} s", record.duration_s)) ", seed "
                            (record.seed)
                            @if let Some(cores) = record.other_work { ", " (format!("{cores:.2}")) " processors busy with other work" }
                        }
                    }
                    p { code { (record.command.join(" ")) } }
                    div.scroll {
                        table {
                            thead { tr { @for title in ["figure", "of", "value", "least to most", "unit"] { th scope="col" { (title) } } } }
                            tbody {
                                @for figure in &record.figures {
                                    tr {
                                        td { (figure.name) }
                                        td {
                                            (figure.of.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", "))
                                        }
                                        td.number { (number(figure.value)) }
                                        td.number {
                                            @if let Some((least, most)) = figure.least.zip(figure.most) {
                                                (number(least)) " to " (number(most))
                                            }
                                        }
                                        td { (figure.unit) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        },
    )
}

/// Four digits, or all of those before the point.
fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { (3.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize };
    format!("{value:.digits$}")
}
