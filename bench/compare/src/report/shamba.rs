//! The report of SHaMBa's experiment.

use std::io::Write;

use anyhow::Result;
use springbloom_console::sizes::Size;
use springbloom_console::{TextTable, percent};
use springbloom_records::{Figure, Unit, labels};

use crate::report::Header;
use crate::run::shamba::{Cell, Experiment};

/// The record of the run, with all cells, as one JSON document.
pub(crate) fn write_json(out: &mut impl Write, header: &Header, experiment: &Experiment) -> Result<()> {
    header.clock.write_record(
        out,
        header.seed,
        header,
        experiment.cells.iter().flat_map(figures).collect(),
        experiment,
    )
}

fn figures(cell: &Cell) -> Vec<Figure> {
    let of = || {
        labels([
            ("config", cell.row.config.clone()),
            ("distribution", cell.distribution.clone()),
            ("existing", cell.existing_share.to_string()),
            ("budget", cell.budget_share.map_or_else(|| "all".to_owned(), |share| share.to_string())),
        ])
    };
    let single = |name, value, unit| Figure::new(name, of(), value, unit);
    let wasted =
        cell.row.wasted_reads_per_get.map(|value| single("wasted_reads_per_get", value, Unit::PerLookup));
    let figures = [
        single("lookup_us", cell.lookup_us(), Unit::Microseconds),
        single("extra_reads_per_get", cell.extra_reads_per_get(), Unit::PerLookup),
        single("filter_bytes", cell.row.resident_filter_bytes as f64, Unit::Bytes),
    ];
    figures.into_iter().chain(wasted).collect()
}

/// One line for each cell.
pub(crate) fn write_table(out: &mut impl Write, header: &Header, experiment: &Experiment) -> Result<()> {
    header.write_text(out)?;
    let full = Size { bytes: experiment.full_filter_bytes };
    writeln!(
        out,
        "budgets as shares of {full} of filters; {} warm-up + {} measured lookups, {} rounds; extra reads: data blocks without \
         the key, filter blocks, filter units\n",
        experiment.warmup_ops, experiment.ops, experiment.rounds
    )?;
    let mut table = TextTable::new([
        "popularity",
        "existing",
        "budget",
        "config",
        "us/get",
        "kops/s",
        "extra reads/get",
        "wasted/get",
        "filter reads/get",
        "unit reads",
        "filter memory",
        "CPU us/get",
        "process CPU",
    ])
    .with_names(4);
    for cell in &experiment.cells {
        let row = &cell.row;
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.3}"));
        table.add_row([
            cell.distribution.clone(),
            percent(cell.existing_share),
            cell.budget_share.map_or_else(|| "-".to_owned(), percent),
            row.config.clone(),
            format!("{:.1}", cell.lookup_us()),
            format!("{:.1}", row.ops_per_s / 1e3),
            format!("{:.3}", cell.extra_reads_per_get()),
            rate(row.wasted_reads_per_get),
            rate(row.filter_reads_per_get),
            row.unit_reads.to_string(),
            Size { bytes: row.resident_filter_bytes }.to_string(),
            format!("{:.1}", row.cpu_us_per_op),
            format!("{:.1}", row.process_cpu_us_per_op),
        ]);
    }
    Ok(writeln!(out, "{table}")?)
}
