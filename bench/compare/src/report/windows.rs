//! Wasted reads per get over time, as text.

use std::io::Write;

use anyhow::Result;
use springbloom_console::{TextTable, distinct};

use crate::report::header::Lookups;
use crate::run::{Row, Window};
use crate::spread::Spread;

/// A table for each number of threads: one line for each window, one column for each configuration, medians over salts. Nothing
/// if windows were not counted.
pub(crate) fn write_text(out: &mut impl Write, lookups: Option<&Lookups>, rows: &[Row]) -> Result<()> {
    let Some(window_ops) = lookups.and_then(|lookups| lookups.window_ops) else { return Ok(()) };
    for threads in distinct(rows.iter().map(|row| row.threads)) {
        writeln!(out, "\nwasted reads per get in windows of {window_ops} operations, {threads} threads")?;
        let rows: Vec<&Row> = rows.iter().filter(|row| row.threads == threads).collect();
        write_table(out, &rows)?;
    }
    Ok(())
}

/// Wasted reads per get of each window, by its end.
pub(crate) fn wasted_reads<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Vec<(u64, Spread)> {
    let first = rows.clone().next().map_or(&[][..], |row| row.windows.as_slice());
    let of = |(at, window): (usize, &Window)| {
        let same = rows.clone().filter_map(|row| row.windows.get(at));
        Some((window.end_ops, Spread::of(same.map(Window::wasted_reads_per_get))?))
    };
    first.iter().enumerate().filter_map(of).collect()
}

fn write_table(out: &mut impl Write, rows: &[&Row]) -> Result<()> {
    let configs = distinct(rows.iter().map(|row| row.config.as_str()));
    let mut table = TextTable::new(["operations"].into_iter().chain(configs.iter().copied())).with_names(0);
    let of_config = |config: &&str| {
        let config = *config;
        wasted_reads(rows.iter().copied().filter(move |row| row.config == config))
    };
    let columns: Vec<_> = configs.iter().map(of_config).collect();
    for (at, &(end_ops, _)) in columns.first().into_iter().flatten().enumerate() {
        let cells =
            columns.iter().map(|column| column.get(at).map_or("-".to_owned(), |(_, spread)| spread.text(4)));
        table.add_row([end_ops.to_string()].into_iter().chain(cells));
    }
    Ok(writeln!(out, "{table}")?)
}
