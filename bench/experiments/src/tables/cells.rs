//! Cells of tables in Markdown.

use std::fmt::{self, Display};

use springbloom_console::is_unprintable;
use springbloom_records::{Figure, Record, Unit, distinct};

/// Cells in Markdown.
pub(crate) struct Table {
    pub(crate) titles: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
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
pub(super) fn columns(configs: &[&str]) -> impl Iterator<Item = String> {
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

pub(super) fn called(name: &str) -> String {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map_or_else(|| shown(name), |(_, text)| (*text).to_owned())
}

pub(super) fn cell(figure: &Figure) -> String {
    figure.text(if matches!(figure.unit, Unit::PerLookup | Unit::Ratio) { 3 } else { 2 })
}

/// The configurations of `records` that have this figure, each once.
pub(super) fn configs<'a>(records: impl Iterator<Item = &'a Record>, name: &str) -> Vec<&'a str> {
    let figures = records.flat_map(|record| &record.figures).filter(|figure| figure.name == name);
    distinct(figures.filter_map(|figure| Some(figure.of.get("config")?.as_str())))
}
