//! The page: one HTML file without references to others.

use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use springbloom_console::sizes::Size as Bytes;
use springbloom_console::{distinct, is_unprintable};
use springbloom_records::{Figure, Record};

use crate::experiment::{Claim, Experiment, Here, Layout, Whose};
use crate::lab::{Lab, commits};
use crate::tables::{Table, filter_name};
use crate::verdict::{Count, Judged, Verdict, judge, rows};

const STYLE: &str = include_str!("page.css");
/// Shows the workload that is chosen. Without it, all are shown.
const SCRIPT: &str = "const choice = document.getElementById('workload');\
    const show = () => document.querySelectorAll('.workload').forEach(one => one.hidden = one.id !== choice.value);\
    if (choice) { choice.onchange = show; show(); }";

/// The page of all records.
///
/// # Errors
/// A record without the settings that its table needs.
pub(crate) fn page(experiments: &[Experiment], lab: &Lab) -> Result<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Springbloom: what was measured" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "Wasted reads by filter, at equal memory" }
                    (chart(experiments, lab))
                    h2 { "Tables" }
                    (tables(experiments, lab)?)
                    h2 { "Records" }
                    (records(lab))
                    h2 { "Figures of papers" }
                    (verdicts(experiments, lab))
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // What maud escapes is text, but HTML has no control characters.
    Ok(page.into_string().replace(|c: char| is_unprintable(c) && c != '\n', "\u{fffd}"))
}

/// A filter in a workload.
struct Bar<'a> {
    config: &'a str,
    wasted: f64,
    /// Reads of data, filters and indexes.
    all: Option<f64>,
    /// In bytes or, simulated, bits for each key.
    memory: Option<f64>,
}

fn is_ours(config: &str) -> bool {
    config == "benefit" || config.starts_with("elastic:") && !config.contains('@')
}

impl<'a> Bar<'a> {
    /// Those of a record, with the fewest threads.
    fn all(record: &'a Record) -> Vec<Self> {
        let wasted = || record.figures.iter().filter(|figure| figure.name == "wasted_reads_per_get");
        let threads =
            |figure: &Figure| figure.of.get("threads").and_then(|threads| threads.parse::<u32>().ok());
        let fewest = wasted().filter_map(threads).min();
        let bar = |figure: &'a Figure| {
            let of: Vec<_> = figure.of.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let value = |name: &str| record.figure(name, &of).map(|figure| figure.value);
            let others =
                ["filter_reads_per_get", "index_reads_per_get"].into_iter().filter_map(value).sum::<f64>();
            Some(Self {
                config: figure.of.get("config")?,
                wasted: figure.value,
                all: value("data_reads_per_get").map(|data| data + others),
                memory: value("filter_bytes").or_else(|| figure.of.get("bits_per_key")?.parse().ok()),
            })
        };
        wasted().filter(|figure| threads(figure) == fewest).filter_map(bar).collect()
    }

    fn has_memory_of(&self, other: &Self) -> bool {
        self.memory.zip(other.memory).is_none_or(|(one, other)| (0.9..=1.1).contains(&(one / other)))
    }

    fn memory_text(&self) -> Option<String> {
        let memory = self.memory?;
        Some(if memory > 1000.0 {
            Bytes { bytes: memory as u64 }.to_string()
        } else {
            format!("{memory} bits per key")
        })
    }
}

/// Workloads that a record has filters of equal memory of: what they are grouped by, what they are called, the record.
fn workloads<'a>(
    experiments: &'a [Experiment],
    lab: &'a Lab,
) -> Vec<(&'a str, &'a str, &'a str, &'a Record)> {
    let mut all: Vec<(&str, &str, &str, &Record)> = Vec::new();
    for experiment in experiments {
        let Here::Tabled { runs, layout } = &experiment.here else { continue };
        for (at, run) in runs.iter().enumerate() {
            let name = match layout {
                Layout::Runs { labels, .. } => labels[at].as_str(),
                Layout::Filters | Layout::Steps(_) | Layout::OneCache | Layout::Splits if runs.len() == 1 => {
                    &experiment.shows
                }
                _ => &run.name,
            };
            all.extend(
                lab.get(&run.name).map(|record| (experiment.place.as_str(), name, run.name.as_str(), record)),
            );
        }
    }
    let of_experiments: Vec<_> =
        experiments.iter().flat_map(|experiment| experiment.runs()).map(|run| &run.name).collect();
    let others = lab.iter().filter(|(run, _)| !of_experiments.iter().any(|known| known == run));
    all.extend(others.map(|(run, record)| ("your records", run, run, record)));
    let mut seen = Vec::new();
    all.retain(|(_, _, run, record)| {
        let bars = Bar::all(record);
        let is_shown = bars.len() > 1 && bars.iter().any(|bar| is_ours(bar.config)) && !seen.contains(run);
        seen.push(run);
        is_shown
    });
    all
}

/// One chart, and which workload it shows.
fn chart(experiments: &[Experiment], lab: &Lab) -> Markup {
    let workloads = workloads(experiments, lab);
    let groups = distinct(workloads.iter().map(|(group, ..)| *group));
    html! {
        @if workloads.is_empty() {
            p { "There are no records of filters yet: run " code { "springbloom reproduce --quick setting-s1" } "." }
        } @else {
            p {
                label for="workload" { "Workload: " }
                select id="workload" {
                    @for group in groups {
                        optgroup label=(group) {
                            @for (_, name, run, _) in workloads.iter().filter(|(of, ..)| *of == group) {
                                option value={ "w-" (run) } { (name) }
                            }
                        }
                    }
                }
            }
            @for (group, name, run, record) in &workloads {
                section.workload id={ "w-" (run) } aria-label={ (group) ": " (name) } {
                    p { strong { (group) } ": " (name) }
                    (bars(&Bar::all(record)))
                    (how(record))
                }
            }
            p.soft {
                "A " span.key.wasted {} " wasted read is a read of a data block that does not hold the key; " span.key.rest {}
                " other reads of data, filters and indexes follow. Reads per lookup; lower is better. "
                "In brackets: how many times the least."
            }
        }
    }
}

fn bars(bars: &[Bar<'_>]) -> Markup {
    // That of ours which most filters share.
    let ours = bars.iter().filter(|bar| is_ours(bar.config));
    let reference = ours.max_by_key(|ours| bars.iter().filter(|bar| bar.has_memory_of(ours)).count());
    let Some(reference) = reference else { return html! {} };
    let (mut equal, mut others): (Vec<_>, Vec<_>) = bars.iter().partition(|bar| bar.has_memory_of(reference));
    let all = |bar: &Bar<'_>| bar.all.unwrap_or(bar.wasted);
    for bars in [&mut equal, &mut others] {
        bars.sort_by(|one, other| all(one).total_cmp(&all(other)));
    }
    let least = |of: &dyn Fn(&Bar<'_>) -> f64| equal.iter().map(|bar| of(bar)).fold(f64::MAX, f64::min);
    let (least_wasted, least_in_all) = (least(&|bar| bar.wasted), least(&all));
    let most = bars.iter().map(all).fold(f64::MIN_POSITIVE, f64::max);
    let width = |value: f64| format!("width:{:.2}%", 100.0 * value / most);
    let row = |bar: &Bar<'_>, is_equal: bool| {
        let factor = |value: f64, least: f64| match value / least {
            factor if !is_equal || !factor.is_finite() => String::new(),
            factor if factor <= 1.0 => " (best)".to_owned(),
            factor => format!(" ({factor:.1}\u{d7})"),
        };
        html! {
            li.ours[is_ours(bar.config)] {
                span.name title=(bar.config) { (filter_name(bar.config)) }
                span.bar {
                    span.rest style=(width(all(bar))) {}
                    span.wasted style=(width(bar.wasted)) {}
                }
                span.numbers {
                    strong { (format!("{:.3}", bar.wasted)) } " wasted" (factor(bar.wasted, least_wasted))
                    @if let Some(all) = bar.all { ", " (format!("{all:.3}")) " in all" (factor(all, least_in_all)) }
                    @if let Some(memory) = bar.memory_text().filter(|_| !is_equal) { "; " (memory) }
                }
            }
        }
    };
    html! {
        @if let Some(memory) = reference.memory_text() { p.soft { "With " (memory) ", within a tenth:" } }
        ul.bars { @for bar in &equal { (row(bar, true)) } }
        @if !others.is_empty() {
            p.soft { "With other memory:" }
            ul.bars.others { @for bar in &others { (row(bar, false)) } }
        }
    }
}

/// How a record was measured.
fn how(record: &Record) -> Markup {
    let Record { machine, .. } = record;
    let memory = Bytes { bytes: machine.memory_bytes };
    html! {
        details {
            summary { "How it was measured" }
            p {
                code { (record.command.join(" ")) } br;
                (record.date) ", " (record.build.commit_name()) ", " (format!("{:.0} s", record.duration_s)) ", seed " (record.seed) "; "
                (machine.cpu) ", " (machine.cores) " cores, " (memory) ", Linux " (machine.kernel)
                @if !record.was_quiet() { "; other work ran beside it: trust counts, not times" }
            }
        }
    }
}

/// What is compared with no paper.
fn tables(experiments: &[Experiment], lab: &Lab) -> Result<Markup> {
    let mut shown = Vec::new();
    for experiment in experiments {
        let Here::Tabled { runs, layout } = &experiment.here else { continue };
        if !runs.iter().any(|run| lab.get(&run.name).is_some()) {
            continue;
        }
        let Table { titles, rows } = Table::of(layout, runs, lab)?.plain();
        shown.push(html! {
            details id=(experiment.id) {
                summary { strong { (experiment.place) } ": " (experiment.shows) }
                div.scroll {
                    table {
                        thead { tr { @for title in &titles { th scope="col" { (title) } } } }
                        tbody { @for row in &rows { tr { @for cell in row { td { (cell) } } } } }
                    }
                }
            }
        });
    }
    Ok(html! { @for table in shown { (table) } })
}

fn records(lab: &Lab) -> Markup {
    let all: Vec<_> = lab.iter().collect();
    let noisy = all.iter().filter(|(_, record)| !record.was_quiet()).count();
    html! {
        p {
            (all.len()) " records, at " (commits(all.iter().map(|(_, record)| *record))) "."
            @if noisy > 0 { " Other work ran beside " (noisy) " of the runs, which changes times but no counts." }
        }
        details {
            summary { "All runs" }
            @for (run, record) in all { h3 { (run) } (how(record)) }
        }
    }
}

/// Of what Springbloom and the setting reach: what a paper's own system misses is no fault of ours.
fn class(counts: &[(Whose, Count)]) -> &'static str {
    let ours = counts.iter().filter(|(whose, _)| *whose != Whose::Published);
    let (held, all) = ours.fold((0, 0), |(held, all), (_, count)| (held + count.held, all + count.measured));
    match (held, all) {
        (_, 0) => "",
        (held, all) if held == all => "holds",
        (0, _) => "does-not-hold",
        _ => "in-part",
    }
}

/// How many figures hold, for the published system and for Springbloom; or the verdict, if nothing was measured.
fn reached(judged: &Judged) -> String {
    let counts = judged.counts.iter().map(|(whose, count)| format!("{} {count}", whose.name()));
    match judged.count().measured {
        0 => judged.text(),
        _ => counts.collect::<Vec<_>>().join(", "),
    }
}

/// All experiments of papers with their verdicts.
fn verdicts(experiments: &[Experiment], lab: &Lab) -> Markup {
    let judged: Vec<_> = experiments
        .iter()
        .filter(|experiment| !experiment.has_no_claims())
        .map(|experiment| (experiment, judge(experiment, lab)))
        .collect();
    let count = |verdict| judged.iter().filter(|(_, judged)| judged.verdict == verdict).count();
    let counts: Vec<_> =
        Verdict::ALL.into_iter().map(|verdict| format!("{}: {}", verdict.name(), count(verdict))).collect();
    html! {
        p {
            "An experiment holds if each of its figures does, for the published system, built of Springbloom\u{2019}s parts, and for "
            "Springbloom. Colours are of what Springbloom reaches. " (counts.join(", ")) "."
        }
        @for paper in distinct(judged.iter().map(|(experiment, _)| &experiment.paper)) {
            h3 { (paper) }
            @for (experiment, judged) in judged.iter().filter(|(experiment, _)| experiment.paper == *paper) {
                details.verdict.(class(&judged.counts)) id=(experiment.id) {
                    summary { strong { (experiment.place) } ": " (experiment.shows) " \u{2013} " (reached(judged)) }
                    @match &experiment.here {
                        Here::Not(why) => p { (why) },
                        Here::Tabled { .. } => {},
                        Here::Measured { claims, .. } => {
                            div.scroll {
                                table {
                                    thead {
                                        tr {
                                            @for title in ["figure", "paper"] { th scope="col" { (title) } }
                                            @for (whose, count) in &judged.counts { th scope="col" { (whose.name()) ", " (count) } }
                                        }
                                    }
                                    tbody {
                                        @for row in rows(claims, &judged.findings) {
                                            tr {
                                                td { (row.claim.says) @if row.claim.is_timed { ", by times" } }
                                                td { (row.claim.paper_text()) }
                                                @for (whose, _) in &judged.counts { (cell(row.claim, row.cell(*whose))) }
                                            }
                                        }
                                    }
                                }
                            }
                            @for reason in &judged.reasons { p { "Why not: " (reason) "." } }
                        }
                    }
                }
            }
        }
    }
}

fn cell(claim: &Claim, found: Option<Option<&crate::verdict::Finding>>) -> Markup {
    html! {
        td {
            @match found {
                None => {},
                Some(None) => "not measured",
                Some(Some(finding)) => {
                    (claim.shown.text(finding.ours)) ", " (if finding.holds { "holds" } else { "does not hold" })
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Unit, labels};

    use super::*;
    use crate::catalogue::experiments;

    fn lab() -> Lab {
        let mut lab = Lab::default();
        let of = |config: &str| labels([("config", config.to_owned()), ("threads", "1".to_owned())]);
        let figures = [("bloom:4", 0.25, 1e6), ("bloom:10", 0.01, 2.5e6), ("elastic:4", 0.05, 1e6)]
            .into_iter()
            .flat_map(|(config, wasted, bytes)| {
                [
                    Figure::new("wasted_reads_per_get", of(config), wasted, Unit::PerLookup),
                    Figure::new("filter_bytes", of(config), bytes, Unit::Bytes),
                    Figure::new("lookups_per_s", of(config), 1e4 / wasted, Unit::PerSecond).between(1e3, 1e6),
                    Figure::new("data_reads_per_get", of(config), 0.5 + wasted, Unit::PerLookup),
                ]
            });
        let command = vec!["springbloom".to_owned(), "<script>\0".to_owned()];
        let record = Clock::start().finish(command, 1, &(), figures.collect()).expect("a record");
        for run in ["memory", "leveldb-reads", "mine"] {
            lab.put(run, record.clone());
        }
        lab
    }

    #[test]
    fn the_page_is_whole_and_refers_to_nothing() {
        let text = page(experiments(), &lab()).expect("a page");
        for reference in ["src=", "href=", "http-equiv", "@import", "url(", "<link"] {
            assert!(!text.contains(reference), "{reference}");
        }
        assert_eq!(text.matches("<script").count(), 1, "our own");
        let escaped = text.contains("&lt;script&gt;\u{fffd}") && !text.contains('\0');
        assert!(escaped, "the command of a record is text");
        for experiment in experiments().iter().filter(|experiment| !experiment.has_no_claims()) {
            assert!(text.contains(&format!("id=\"{}\"", experiment.id)), "{}", experiment.id);
        }
        assert_eq!(text.matches("<table").count(), text.matches("<thead").count());
    }

    #[test]
    fn the_chart_has_filters_of_equal_memory_with_the_factor_to_the_best() {
        let text = page(experiments(), &lab()).expect("a page");
        for run in ["memory", "mine"] {
            let option = format!("<option value=\"w-{run}\">");
            assert!(text.contains(&option) && text.contains(&format!("id=\"w-{run}\"")), "{run}");
        }
        let (_, workload) = text.split_once("id=\"w-memory\"").expect("the workload");
        let places = [
            "elastic:4",
            "0.050</strong> wasted (best)",
            "bloom:4",
            "wasted (5.0\u{d7})",
            "With other",
            "bloom:10",
        ]
        .map(|text| workload.find(text).unwrap_or_else(|| panic!("{text}")));
        assert!(places.is_sorted(), "{places:?}");
    }

    #[test]
    fn what_a_papers_own_system_misses_has_no_colour() {
        let count = |held| Count { held, measured: 2, all: 2 };
        for (counts, expected) in [
            (vec![(Whose::Published, count(0))], ""),
            (vec![(Whose::Published, count(0)), (Whose::Springbloom, count(2))], "holds"),
            (vec![(Whose::Published, count(2)), (Whose::Springbloom, count(1))], "in-part"),
            (vec![(Whose::Setting, count(0))], "does-not-hold"),
        ] {
            assert_eq!(class(&counts), expected, "{counts:?}");
        }
    }

    #[test]
    fn without_records_there_is_a_page_that_says_so() {
        let text = page(experiments(), &Lab::default()).expect("a page");
        assert!(text.contains("springbloom reproduce"), "what to do");
    }
}
