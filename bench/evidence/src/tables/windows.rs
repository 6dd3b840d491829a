//! Windows of lookups one after the other.

use springbloom_records::{Figure, Record};

use super::{Table, columns, configs, spread};

const WASTED: &str = "window_wasted_reads_per_get";

/// A line for each window, a column for each filter.
pub(super) fn table<'a>(records: impl Iterator<Item = &'a Record> + Clone) -> Table {
    let configs = configs(records.clone(), WASTED);
    let end = |figure: &Figure| figure.of.get("end_ops")?.parse::<u64>().ok();
    let figures =
        || records.clone().flat_map(|record| &record.figures).filter(|figure| figure.name == WASTED);
    let mut ends: Vec<u64> = figures().filter_map(end).collect();
    ends.sort_unstable();
    ends.dedup();
    let titles = ["wasted reads per lookup, until lookup".to_owned()];
    let titles = titles.into_iter().chain(columns(&configs)).collect();
    let row = |&ops: &u64| {
        let cell = |config: &&str| {
            let mut of =
                figures().filter(|figure| end(figure) == Some(ops) && figure.is_of(&[("config", config)]));
            of.next().map_or("-".to_owned(), |figure| spread(figure, 3))
        };
        [ops.to_string()].into_iter().chain(configs.iter().map(cell)).collect()
    };
    Table { titles, rows: ends.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Unit, labels};

    use super::*;

    #[test]
    fn windows_stand_in_the_order_of_time() {
        let of = |config: &str, end: u64, value| {
            let of = labels([("config", config.to_owned()), ("end_ops", end.to_string())]);
            Figure::new(WASTED, of, value, Unit::PerLookup)
        };
        let figures = vec![of("a:1", 500, 0.1), of("a:1", 1000, 0.2), of("b:1", 1000, 0.3)];
        let record = Clock::start().finish(vec![], 1, &(), figures).expect("a record");
        assert_eq!(
            table([&record].into_iter()).to_string(),
            "| wasted reads per lookup, until lookup | `a:1` | `b:1` |\n|---|---|---|\n| 500 | 0.100 | - |\n| 1000 | 0.200 | 0.300 |\n"
        );
    }
}
