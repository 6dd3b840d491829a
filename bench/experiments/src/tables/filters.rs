//! Filters one by one.

use springbloom_console::sizes::Size as Bytes;
use springbloom_records::{Figure, Record};

use super::cells::{Table, shown};

/// Memory and reads of each filter. Reads of filters are left out where there are none.
pub(super) fn table<'a>(records: impl Iterator<Item = &'a Record>) -> Table {
    let wasted = |record: &'a Record| {
        let figures = record.figures.iter().filter(|figure| figure.name == "wasted_reads_per_get");
        figures.map(move |figure| (record, figure))
    };
    let text = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let row = |(record, wasted): (&Record, &Figure)| {
        let memory = same(record, wasted, "filter_bytes").map(|figure| figure.value as u64);
        let reads = same(record, wasted, "filter_reads_per_get").filter(|figure| figure.value > 0.0);
        vec![
            named(&shown(wasted.of.get("config").map_or("", String::as_str))),
            text(memory.map(|bytes| Bytes { bytes }.to_string())),
            wasted.text(3),
            text(reads.map(|figure| format!("{:.2}", figure.value))),
        ]
    };
    let mut rows: Vec<_> = records.flat_map(wasted).map(row).collect();
    let mut titles = ["filter", "memory", "wasted reads per lookup", "filter reads per lookup"]
        .map(str::to_owned)
        .to_vec();
    if rows.iter().all(|row| row[3] == "-") {
        titles.truncate(3);
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    Table { titles, rows }
}

/// The figure called `name` of the same filter and threads.
fn same<'a>(record: &'a Record, wasted: &Figure, name: &str) -> Option<&'a Figure> {
    let labels: Vec<_> = wasted.of.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    record.figure(name, &labels)
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
