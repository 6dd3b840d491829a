//! Reports: a header with the settings and the machine, then a table with what it says in words, or JSON.

pub(crate) mod comparison;
mod header;
pub(crate) mod loads;
mod summary;
mod total_memory;

pub(crate) use header::{Header, Loads, Lookups};

use springbloom_console::TextTable;
use springbloom_console::sizes::Size;
use springbloom_records::{Figure, Labels, Unit};

/// A line for each of `lines`: its labels, and its figures, which `columns` give titles.
fn table<const N: usize>(
    names: [&str; N],
    lines: impl Iterator<Item = Labels>,
    columns: &[(&str, &str)],
    figures: &[Figure],
) -> TextTable {
    let mut table = TextTable::new(names.into_iter().chain(columns.iter().map(|(title, _)| *title)));
    for of in lines {
        let cell = |(_, name): &(&str, &str)| {
            let figure = figures.iter().find(|figure| figure.name == *name && figure.of == of);
            figure.map_or("-".to_owned(), |figure| match figure.unit {
                Unit::Bytes => Size { bytes: figure.value as u64 }.to_string(),
                Unit::Seconds => figure.text(1),
                Unit::TimeRatio => figure.text(2),
                _ => figure.text(3),
            })
        };
        table.add_row(of.values().cloned().chain(columns.iter().map(cell)));
    }
    table
}
