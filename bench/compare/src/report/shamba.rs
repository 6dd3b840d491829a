//! The report of SHaMBa's experiment.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_console::TextTable;
use springbloom_console::sizes::Size;

use crate::report::Header;
use crate::run::shamba::Experiment;

/// All cells as one JSON document.
pub(crate) fn write_json(out: &mut impl Write, header: &Header, experiment: &Experiment) -> Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        header: &'a Header,
        #[serde(flatten)]
        experiment: &'a Experiment,
    }
    serde_json::to_writer_pretty(&mut *out, &Document { header, experiment })?;
    Ok(writeln!(out)?)
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
            format!("{:.0}%", cell.existing_share * 100.0),
            cell.budget_share.map_or_else(|| "-".to_owned(), |share| format!("{:.0}%", share * 100.0)),
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
