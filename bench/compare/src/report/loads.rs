//! The report of loads: their costs, and the ratios to those of a stock filter.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::{TextTable, distinct};
use springbloom_records::{Figure, Unit, labels};

use crate::report::Header;
use crate::report::baseline::baseline;
use crate::run::LoadRow;
use crate::spread::Spread;

/// The loads of one configuration.
#[derive(Debug, Serialize)]
struct Medians {
    config: String,
    load_s: Spread,
    load_cpu_s: Spread,
    load_written_bytes: Spread,
    /// To the baseline's load of the same round.
    time_ratio: Spread,
    cpu_ratio: Spread,
    written_ratio: Spread,
}

impl Medians {
    fn figures(&self) -> [Figure; 6] {
        let of = || labels([("config", self.config.clone())]);
        [
            self.load_s.figure("load_s", of(), Unit::Seconds),
            self.load_cpu_s.figure("load_cpu_s", of(), Unit::Seconds),
            self.load_written_bytes.figure("load_written_bytes", of(), Unit::Bytes),
            self.time_ratio.figure("load_time_ratio", of(), Unit::TimeRatio),
            self.cpu_ratio.figure("load_cpu_ratio", of(), Unit::TimeRatio),
            self.written_ratio.figure("load_written_ratio", of(), Unit::Ratio),
        ]
    }
}

/// The record of the run, and all loads with their medians, as one JSON document.
pub(crate) fn write_json(out: &mut impl Write, header: &Header, rows: &[LoadRow]) -> Result<()> {
    #[derive(Serialize)]
    struct Detail<'a> {
        baseline: &'a str,
        rows: &'a [LoadRow],
        medians: &'a [Medians],
    }
    let baseline = baseline(rows.iter().map(|row| row.config.as_str()));
    let medians = medians(rows, baseline);
    let figures = medians.iter().flat_map(Medians::figures).collect();
    header.write_record(out, figures, &Detail { baseline, rows, medians: &medians })
}

/// One line for each configuration: medians over rounds, with least and greatest.
pub(crate) fn write_table(out: &mut impl Write, header: &Header, rows: &[LoadRow]) -> Result<()> {
    header.write_text(out)?;
    let baseline = baseline(rows.iter().map(|row| row.config.as_str()));
    let mut table = TextTable::new([
        "config",
        "load s",
        "CPU s",
        "written MiB",
        &format!("time / {baseline}"),
        &format!("CPU / {baseline}"),
        &format!("written / {baseline}"),
    ]);
    for line in medians(rows, baseline) {
        let mebibytes = |bytes: f64| bytes / f64::from(1 << 20);
        table.add_row([
            line.config.clone(),
            line.load_s.text(1),
            line.load_cpu_s.text(1),
            line.load_written_bytes.map(mebibytes).text(0),
            line.time_ratio.text(3),
            line.cpu_ratio.text(3),
            line.written_ratio.text(3),
        ]);
    }
    Ok(writeln!(out, "{table}")?)
}

/// By configuration, in the order of the first round.
fn medians(rows: &[LoadRow], baseline: &str) -> Vec<Medians> {
    distinct(rows.iter().map(|row| row.config.as_str()))
        .into_iter()
        .filter_map(|config| {
            let of = |figure: fn(&LoadRow) -> f64| {
                Spread::of(rows.iter().filter(|row| row.config == config).map(figure))
            };
            let ratio = |figure: fn(&LoadRow) -> f64| {
                Spread::of(rows.iter().filter(|row| row.config == config).filter_map(|row| {
                    let other =
                        rows.iter().find(|other| other.config == baseline && other.round == row.round)?;
                    Some(figure(row) / figure(other))
                }))
            };
            Some(Medians {
                config: config.to_owned(),
                load_s: of(|row| row.load_s)?,
                load_cpu_s: of(|row| row.load_cpu_s)?,
                load_written_bytes: of(|row| row.load_written_bytes as f64)?,
                time_ratio: ratio(|row| row.load_s)?,
                cpu_ratio: ratio(|row| row.load_cpu_s)?,
                written_ratio: ratio(|row| row.load_written_bytes as f64)?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(config: &str, round: u32, load_s: f64) -> LoadRow {
        LoadRow { config: config.to_owned(), round, load_s, load_cpu_s: 1.0, load_written_bytes: 10 }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        // The machine was twice as slow in round 2: the ratio is not.
        let rows = [
            row("elastic:4", 1, 1.1),
            row("bloom:10", 1, 1.0),
            row("bloom:10", 2, 2.0),
            row("elastic:4", 2, 2.2),
        ];
        let medians = medians(&rows, "bloom:10");
        assert_eq!(medians[0].config, "elastic:4");
        assert!((medians[0].time_ratio.min - 1.1).abs() < 1e-9, "{medians:?}");
        assert!((medians[0].time_ratio.max - 1.1).abs() < 1e-9, "{medians:?}");
        assert_eq!(medians[1].time_ratio.text(3), "1.000");
    }
}
