//! Tables of measurements that are compared with no paper.

mod filters;
mod rivals;
mod runs;

use std::fmt::{self, Display};

use springbloom_console::{distinct, is_unprintable};
use springbloom_records::{Figure, Record, Unit};

use crate::lab::Lab;
use crate::run::Run;

/// Figures of a table with a line for each filter.
const OF_FILTERS: [&str; 3] = ["filter_bytes", "wasted_reads_per_get", "filter_reads_per_get"];
/// Figures of a table with a line for each run, in addition to those that it names.
const OF_RUNS: [&str; 3] = ["filter_bytes", "memory_bytes", "all_reads_to_best_stock"];

/// The table of an experiment that is compared with no paper.
pub(crate) enum Layout {
    /// A line for each filter of each run.
    Filters,
    /// A line for each run, with its label or its name, and each of `figures`; a column for each of `columns`, or for each filter where
    /// there are none.
    Runs { labels: Vec<String>, figures: Vec<String>, columns: Vec<String> },
}

impl Layout {
    /// The names of the figures that the table needs.
    pub(crate) fn figures(&self) -> Vec<&str> {
        match self {
            Self::Filters => OF_FILTERS.to_vec(),
            Self::Runs { figures, .. } => figures.iter().map(String::as_str).chain(OF_RUNS).collect(),
        }
    }
}

/// Cells in Markdown.
pub(crate) struct Table {
    pub(crate) titles: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    /// The table of `runs`; those without a record are left out.
    pub(crate) fn of<'a>(layout: &'a Layout, runs: &'a [Run], lab: &'a Lab) -> Self {
        match layout {
            Layout::Filters => filters::table(runs.iter().filter_map(|run| lab.get(&run.name))),
            Layout::Runs { labels, figures, columns } => {
                let label = |at: usize, run: &'a Run| labels.get(at).unwrap_or(&run.name).as_str();
                let lines = runs.iter().enumerate();
                let lines = lines.filter_map(|(at, run)| Some((label(at, run), lab.get(&run.name)?)));
                let lines: Vec<_> = lines.collect();
                if columns.is_empty() {
                    runs::table(&lines, figures)
                } else {
                    rivals::table(&lines, figures, columns)
                }
            }
        }
    }

    /// The same without marks of Markdown.
    pub(crate) fn plain(self) -> Self {
        let plain = |cells: Vec<String>| cells.into_iter().map(|cell| cell.replace(['`', '*'], "")).collect();
        Self { titles: plain(self.titles), rows: self.rows.into_iter().map(plain).collect() }
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| {} |\n|{}", self.titles.join(" | "), "---|".repeat(self.titles.len()))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", row.join(" | ")))
    }
}

/// Text of a record, without what would end its cell or its code, begin HTML, or cannot be shown.
pub(crate) fn shown(text: &str) -> String {
    let is_plain = |c: char| !is_unprintable(c) && !['|', '`', '<', '>', '&', '\\'].contains(&c);
    text.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
}

/// A column's title for each of `configs`.
fn columns(configs: &[&str]) -> impl Iterator<Item = String> {
    configs.iter().map(|config| format!("`{}`", shown(config)))
}

/// What figures are called.
const NAMES: [(&str, &str); 12] = [
    ("all_reads_per_get", "all reads per lookup"),
    ("wasted_reads_per_get", "wasted reads per lookup"),
    ("data_reads_per_get", "reads of data per lookup"),
    ("index_reads_per_get", "reads of indexes per lookup"),
    ("filter_reads_per_get", "reads of filters per lookup"),
    ("get_p99_us", "99th percentile, us"),
    ("cpu_us_per_op", "processor time, us"),
    ("cells", "cells of the map, by our reads to those of the best stock settings"),
    ("lookups_ratio", "rate, ratio"),
    ("load_time_ratio", "time, ratio"),
    ("load_cpu_ratio", "processor time, ratio"),
    ("load_written_ratio", "bytes written, ratio"),
];

fn called(name: &str) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map_or_else(|| shown(name), |(_, text)| (*text).to_owned())
}

fn cell(figure: &Figure) -> String {
    figure.text(if matches!(figure.unit, Unit::PerLookup | Unit::Ratio) { 3 } else { 2 })
}

/// The configurations of `records` that have this figure, each once.
fn configs<'a>(records: impl Iterator<Item = &'a Record>, name: &str) -> Vec<&'a str> {
    let figures = records.flat_map(|record| &record.figures).filter(|figure| figure.name == name);
    distinct(figures.filter_map(|figure| Some(figure.of.get("config")?.as_str())))
}
