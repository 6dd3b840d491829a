//! Filters one by one.

use springbloom_console::sizes::Size as Bytes;
use springbloom_records::{Figure, Record};

use super::{Table, shown};

/// A column: its title, and its text for a filter, given the figure of its wasted reads.
type Column = (&'static str, fn(&Record, &Figure) -> Option<String>);

const COLUMNS: [Column; 5] = [
    ("filter", |_, wasted| Some(named(&shown(wasted.of.get("config")?)))),
    ("memory", memory),
    ("wasted reads per lookup", |_, wasted| Some(wasted.text(3))),
    ("filter reads per lookup", |record, wasted| {
        let reads = same(record, wasted, "filter_reads_per_get")?.value;
        (reads > 0.0).then(|| format!("{reads:.2}"))
    }),
    ("lookups per second, thousands", |record, wasted| {
        // Times that other work distorted are no claims.
        let rate = same(record, wasted, "lookups_per_s").filter(|_| record.was_quiet())?;
        Some(format!("{:.1}", rate.value / 1e3))
    }),
];

/// Memory, reads and lookups of each filter, with the fewest threads. Columns that no record fills are left out.
pub(super) fn table<'a>(records: impl Iterator<Item = &'a Record>) -> Table {
    let rows: Vec<Vec<Option<String>>> = records
        .flat_map(|record| {
            let wasted = record.figures.iter().filter(|figure| figure.name == "wasted_reads_per_get");
            let threads =
                |figure: &Figure| figure.of.get("threads").and_then(|threads| threads.parse::<u32>().ok());
            let fewest = wasted.clone().filter_map(threads).min();
            let shown = wasted.filter(move |figure| threads(figure) == fewest);
            shown.map(|wasted| COLUMNS.iter().map(|(_, cell)| cell(record, wasted)).collect())
        })
        .collect();
    let filled = |column: &usize| rows.iter().any(|row| row[*column].is_some());
    let columns: Vec<usize> = (0..COLUMNS.len()).filter(filled).collect();
    let titles = columns.iter().map(|&column| COLUMNS[column].0.to_owned()).collect();
    let cell = |row: &[Option<String>], column: usize| row[column].clone().unwrap_or_else(|| "-".to_owned());
    let rows = rows.iter().map(|row| columns.iter().map(|&column| cell(row, column)).collect()).collect();
    Table { titles, rows }
}

/// The figure called `name` of the same filter and threads.
fn same<'a>(record: &'a Record, wasted: &Figure, name: &str) -> Option<&'a Figure> {
    let labels: Vec<_> = wasted.of.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    record.figure(name, &labels)
}

fn memory(record: &Record, wasted: &Figure) -> Option<String> {
    let figure = same(record, wasted, "filter_bytes")?;
    Some(Bytes { bytes: figure.value as u64 }.to_string())
}

/// Families of filters with what they are.
const FAMILIES: [(&str, &str); 7] = [
    ("elastic", "**Springbloom**"),
    ("elasticbf", "ElasticBF as published"),
    ("bloom", "Bloom"),
    ("ribbon", "Ribbon"),
    ("partitioned", "partitioned Bloom in a cache"),
    ("monkey-bloom", "Bloom by level (Monkey)"),
    ("monkey-ribbon", "Ribbon by level (Monkey)"),
];

/// `Bloom, 4 bits (`bloom:4`)`; names that are not known stay as they are.
pub(super) fn named(config: &str) -> String {
    let known = config.split_once(':').and_then(|(name, bits)| {
        let (_, family) = FAMILIES.iter().find(|(known, _)| *known == name)?;
        let bits = bits.parse::<f64>().ok()?;
        Some(format!("{family}, {bits} bit{} (`{config}`)", if bits == 1.0 { "" } else { "s" }))
    });
    known.unwrap_or_else(|| format!("`{config}`"))
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Unit, labels};

    use super::*;

    #[test]
    fn filters_have_names_and_columns_without_figures_are_left_out() {
        let of = |config: &str, threads: u32| {
            labels([("config", config.to_owned()), ("threads", threads.to_string())])
        };
        let wasted = |config, threads, value| {
            Figure::new("wasted_reads_per_get", of(config, threads), value, Unit::PerLookup)
        };
        let figures = vec![
            wasted("bloom:4", 1, 0.25),
            wasted("bloom:4", 16, 0.26),
            wasted("elasticbf:4@policy=benefit", 1, 0.1),
            wasted("a`|\0<b>\n", 1, 0.1),
            Figure::new("filter_bytes", of("bloom:4", 1), 2048.0, Unit::Bytes),
        ];
        let record = Clock::start().finish(vec![], 1, &(), figures).expect("a record");
        assert_eq!(
            table([&record].into_iter()).to_string(),
            "| filter | memory | wasted reads per lookup |\n|---|---|---|\n\
             | Bloom, 4 bits (`bloom:4`) | 2 KiB | 0.250 |\n\
             | `elasticbf:4@policy=benefit` | - | 0.100 |\n\
             | `a????b??` | - | 0.100 |\n"
        );
    }
}
