//! Runs one by one, filters side by side.

use springbloom_console::sizes::Size as Bytes;
use springbloom_records::{Figure, Record, distinct};

use super::cells::{Table, called, cell, columns, configs};

/// A line for each of `figures` of each record, the first one with its label. Where there is one figure, it stands in the title, and the
/// memory that each filter takes before the lines, if that is much the same in all.
pub(super) fn table(lines: &[(&str, &Record)], figures: &[String]) -> Table {
    let records = || lines.iter().map(|(_, record)| *record);
    let configs = configs(records(), figures.first().map(String::as_str).unwrap_or_default());
    // A line may have a filter with settings of its own in the column of the filter.
    let configs = distinct(configs.into_iter().map(plain));
    let cells = |record: &Record, name: &str| -> Vec<String> {
        let of = |config: &&str| of_column(record, name, config).map_or("-".to_owned(), cell);
        configs.iter().map(of).collect()
    };
    let row = |named: Vec<String>, cells: Vec<String>| [named, cells].concat();
    if let [name] = figures {
        let memory: Option<Vec<_>> = configs.iter().map(|config| memory(records(), config)).collect();
        let memory = memory.map(|cells| row(vec!["memory".to_owned()], cells));
        let rows = lines.iter().map(|(label, record)| row(vec![(*label).to_owned()], cells(record, name)));
        let titles = [called(name)].into_iter().chain(columns(&configs)).collect();
        return Table { titles, rows: memory.into_iter().chain(rows).collect() };
    }
    let of_line = |(label, record): &(&str, &Record)| -> Vec<Vec<String>> {
        let label = |at| if at == 0 { (*label).to_owned() } else { String::new() };
        let row = |(at, name): (_, &String)| row(vec![label(at), called(name)], cells(record, name));
        figures.iter().enumerate().map(row).collect()
    };
    let titles = [String::new(), "figure".to_owned()].into_iter().chain(columns(&configs)).collect();
    Table { titles, rows: lines.iter().flat_map(of_line).collect() }
}

/// The column of filters that are tuned by hand for each column family, and that of fixed parts of a block cache.
const BEST: [&str; 2] = ["by hand", "best fixed split"];

/// A configuration without settings of its own.
fn plain(config: &str) -> &str {
    if config.starts_with("ribbon:") && config.contains('/') {
        return BEST[0];
    }
    if config.ends_with("@charge_to_block_cache=true") {
        return BEST[1];
    }
    config.split('@').next().unwrap_or(config)
}

/// The only figure of a column; of several choices by hand or splits, that of the best one.
fn of_column<'a>(record: &'a Record, name: &str, column: &str) -> Option<&'a Figure> {
    let is_of = |figure: &&Figure| {
        figure.name == name && figure.of.get("config").is_some_and(|config| plain(config) == column)
    };
    let mut found = record.figures.iter().filter(is_of);
    if BEST.contains(&column) {
        return found.min_by(|one, other| one.value.total_cmp(&other.value));
    }
    found.next().filter(|_| found.next().is_none())
}

/// The most memory that a filter takes; none where it differs between runs.
fn memory<'a>(records: impl Iterator<Item = &'a Record>, config: &str) -> Option<String> {
    let bytes = records.filter_map(|record| of_column(record, "filter_bytes", config));
    let bytes: Vec<_> = bytes.map(|figure| figure.value).collect();
    let (least, most) =
        (bytes.iter().copied().fold(f64::INFINITY, f64::min), bytes.iter().copied().fold(0.0, f64::max));
    (most > 0.0 && most < least * 1.1).then(|| Bytes { bytes: most as u64 }.to_string())
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Unit, labels};

    use super::*;

    #[test]
    fn a_line_has_a_cell_for_each_filter_of_any_run() {
        let figure = |name, config: &str, value, unit| {
            Figure::new(name, labels([("config", config.to_owned())]), value, unit)
        };
        let record = |figures| Clock::start().finish(vec![], 1, &(), figures).expect("a record");
        let wasted = |config, value| figure("wasted_reads_per_get", config, value, Unit::PerLookup);
        let both = record(vec![
            wasted("a:1", 0.5),
            wasted("b:1", 0.25).between(0.2, 0.3),
            figure("lookups_ratio", "a:1", 1.0, Unit::TimeRatio),
            figure("filter_bytes", "a:1", 1024.0, Unit::Bytes),
            figure("filter_bytes", "b:1", 1024.0, Unit::Bytes),
        ]);
        let one =
            record(vec![wasted("a:1@x=1", 0.125), figure("filter_bytes", "a:1@x=1", 1100.0, Unit::Bytes)]);
        let lines = [("x", &both), ("y", &one)];
        assert_eq!(
            table(&lines, &["wasted_reads_per_get".to_owned()]).to_string(),
            "| wasted reads per lookup | `a:1` | `b:1` |\n|---|---|---|\n| memory | 1.07 KiB | 1 KiB |\n\
             | x | 0.500 | 0.250 (0.200-0.300) |\n| y | 0.125 | - |\n"
        );
        assert_eq!(
            table(&lines[..1], &["wasted_reads_per_get", "lookups_ratio"].map(str::to_owned)).to_string(),
            "|  | figure | `a:1` | `b:1` |\n|---|---|---|---|\n| x | wasted reads per lookup | 0.500 | 0.250 (0.200-0.300) |\n\
             |  | rate, ratio | 1.00 | - |\n"
        );
    }
}
