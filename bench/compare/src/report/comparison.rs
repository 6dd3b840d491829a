//! The report of `compare`.

use std::io::Write;

use anyhow::Result;
use springbloom_console::sizes::Size;
use springbloom_console::{TextTable, distinct};
use springbloom_records::{Figure, Labels, Unit};

use crate::database::open::UNITS;
use crate::report::Header;
use crate::run::{Row, labels_of};

/// The record of the run as one JSON document.
pub(crate) fn write_json(out: &mut impl Write, header: &Header, rows: &[Row]) -> Result<()> {
    header.write_record(out, figures(rows, &header.baseline))
}

/// One line for each configuration and number of threads: medians over mappings, with least and greatest.
pub(crate) fn write_table(out: &mut impl Write, header: &Header, rows: &[Row]) -> Result<()> {
    header.write_text(out)?;
    let baseline = &header.baseline;
    let figures = figures(rows, baseline);
    let figure = |name: &str, of: &Labels| figures.iter().find(|it| it.name == name && it.of == *of);
    let text = |name: &str, of: &Labels, digits| {
        figure(name, of).map_or("-".to_owned(), |figure| figure.text(digits))
    };
    let mut table = TextTable::new([
        "filters",
        "threads",
        "memory",
        "wasted reads",
        "all data reads",
        "filter reads",
        &format!("lookups/s to {baseline}"),
    ]);
    for (config, threads) in groups(rows) {
        let of = &labels_of(config, threads);
        let memory = figure("filter_bytes", of).map_or(0, |figure| figure.value as u64);
        table.add_row([
            config.to_owned(),
            threads.to_string(),
            Size { bytes: memory }.to_string(),
            text("wasted_reads_per_get", of, 3),
            text("data_reads_per_get", of, 3),
            text("filter_reads_per_get", of, 3),
            text("lookups_ratio", of, 2),
        ]);
    }
    writeln!(out, "reads of blocks per lookup, and lookups per second in turns with {baseline}")?;
    writeln!(out, "{table}")?;
    for none in figures.iter().filter(|figure| figure.is_of(&[("part", UNITS)]) && figure.value == 0.0) {
        writeln!(
            out,
            "{} had no filter in memory: its budget has no room for a table's bookkeeping and a unit. Choose a larger --budget, or more \
             records.",
            none.of["config"]
        )?;
    }
    Ok(())
}

/// Configurations and numbers of threads.
fn groups(rows: &[Row]) -> Vec<(&str, u32)> {
    let mut groups = distinct(rows.iter().map(|row| (row.config.as_str(), row.threads)));
    groups.sort_by_key(|&(_, threads)| threads);
    groups
}

/// All figures over mappings, and lookups per second as ratios to those of the baseline in the same round under the same mapping.
fn figures(rows: &[Row], baseline: &str) -> Vec<Figure> {
    let all = || rows.iter().flat_map(|row| &row.figures);
    let kinds = distinct(all().map(|Figure { name, of, unit, .. }| (name, of, *unit)));
    let medians = kinds.into_iter().filter_map(|(name, of, unit)| {
        let values =
            all().filter(|figure| figure.name == *name && figure.of == *of).map(|figure| figure.value);
        Figure::over(name, of.clone(), values, unit)
    });
    let ratios = groups(rows).into_iter().filter_map(|(config, threads)| {
        let ratios = rows
            .iter()
            .filter(|row| (row.config.as_str(), row.threads) == (config, threads))
            .flat_map(|row| {
                let is_rival = |other: &&Row| {
                    (other.config.as_str(), other.threads, other.salt) == (baseline, threads, row.salt)
                };
                let theirs = rows.iter().find(is_rival).map_or(&[][..], |rival| &rival.ops_per_s_by_round);
                row.ops_per_s_by_round.iter().zip(theirs).map(|(ours, theirs)| ours / theirs)
            });
        Figure::over("lookups_ratio", labels_of(config, threads), ratios, Unit::TimeRatio)
    });
    medians.chain(ratios).collect()
}
