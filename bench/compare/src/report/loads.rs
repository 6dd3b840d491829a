//! The report of loads: their costs, and the ratios to those of a stock filter.

use std::io::Write;

use anyhow::Result;
use springbloom_records::{Figure, Unit, distinct, labels};

use crate::report::{Header, table};
use crate::run::LoadRow;

/// What a load costs: the name of the figure and of its ratio to that of the baseline's load of the same round, each with its unit.
type Cost = (&'static str, Unit, &'static str, Unit, fn(&LoadRow) -> f64);

const COSTS: [Cost; 3] = [
    ("load_s", Unit::Seconds, "load_time_ratio", Unit::TimeRatio, |row| row.load_s),
    ("load_cpu_s", Unit::Seconds, "load_cpu_ratio", Unit::TimeRatio, |row| row.load_cpu_s),
    ("load_written_bytes", Unit::Bytes, "load_written_ratio", Unit::Ratio, |row| {
        row.load_written_bytes as f64
    }),
];

/// One line for each configuration: medians over rounds, with least and greatest. Or one JSON document.
pub(crate) fn write(out: &mut impl Write, header: &Header, rows: &[LoadRow], json: bool) -> Result<()> {
    let baseline = &header.baseline;
    let figures = figures(rows, baseline);
    if json {
        return header.write_record(out, figures);
    }
    header.write_text(out)?;
    let columns = [
        ("load s", "load_s"),
        ("CPU s", "load_cpu_s"),
        ("written", "load_written_bytes"),
        (&format!("time / {baseline}"), "load_time_ratio"),
        (&format!("CPU / {baseline}"), "load_cpu_ratio"),
        (&format!("written / {baseline}"), "load_written_ratio"),
    ];
    let lines = configs(rows).into_iter().map(|config| labels([("config", config.to_owned())]));
    Ok(writeln!(out, "{}", table(["config"], lines, &columns, &figures))?)
}

/// In the order of the first round.
fn configs(rows: &[LoadRow]) -> Vec<&str> {
    distinct(rows.iter().map(|row| row.config.as_str()))
}

/// The costs of each configuration over all rounds, each with its ratio.
fn figures(rows: &[LoadRow], baseline: &str) -> Vec<Figure> {
    let mut figures = Vec::new();
    for config in configs(rows) {
        for (name, unit, ratio_name, ratio_unit, cost) in COSTS {
            let own = || rows.iter().filter(|row| row.config == config);
            let of = || labels([("config", config.to_owned())]);
            let ratio = |row: &LoadRow| {
                let is_rival = |other: &&LoadRow| other.config == baseline && other.round == row.round;
                Some(cost(row) / cost(rows.iter().find(is_rival)?))
            };
            figures.extend(Figure::over(name, of(), own().map(cost), unit));
            figures.extend(Figure::over(ratio_name, of(), own().filter_map(ratio), ratio_unit));
        }
    }
    figures
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
        let all = figures(&rows, "bloom:10");
        let ratio = |config: &str| {
            let is_it = |figure: &&Figure| figure.name == "load_time_ratio" && figure.of["config"] == config;
            all.iter().find(is_it).expect(config).text(3)
        };
        assert_eq!((ratio("elastic:4"), ratio("bloom:10")), ("1.100".to_owned(), "1.000".to_owned()));
    }
}
