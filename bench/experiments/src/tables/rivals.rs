//! Runs one by one, some filters side by side, and the best stock configuration of each run.

use springbloom_records::{Figure, Record};

use super::cells::{Table, called, cell, columns, shown};

/// The stock configuration that reads least in a run, which the run's figures of ours to it name.
const BEST: &str = "best stock";
const TO_BEST: &str = "all_reads_to_best_stock";

/// A line for each of `figures` of each record, the first one with its label, and one that names the best stock configuration.
pub(super) fn table(lines: &[(&str, &Record)], figures: &[String], filters: &[String]) -> Table {
    let names: Vec<_> = filters.iter().map(String::as_str).collect();
    let rows = lines.iter().flat_map(|(label, record)| {
        let of_figure = |name: &String| {
            names.iter().map(|config| of_config(record, name, config).map_or("-".to_owned(), cell)).collect()
        };
        let ours = |config: &&str| to_best(record, config).map_or("-".to_owned(), |figure| figure.text(2));
        let rows = figures.iter().map(|name| (called(name), of_figure(name)));
        let to_best = (
            format!(
                "to {BEST}, {}",
                best(record).map_or("-".to_owned(), |best| format!("`{}`", shown(best)))
            ),
            names.iter().map(ours).collect(),
        );
        let rows: Vec<(String, Vec<String>)> = rows.chain([to_best]).collect();
        let label = |at| if at == 0 { (*label).to_owned() } else { String::new() };
        rows.into_iter()
            .enumerate()
            .map(|(at, (name, cells))| [vec![label(at), name], cells].concat())
            .collect::<Vec<_>>()
    });
    let titles = [String::new(), "figure".to_owned()].into_iter().chain(columns(&names));
    Table { titles: titles.collect(), rows: rows.collect() }
}

/// Of a configuration of ours.
fn to_best<'a>(record: &'a Record, config: &str) -> Option<&'a Figure> {
    record.figure(TO_BEST, &[("config", config)])
}

fn best(record: &Record) -> Option<&str> {
    let ratio = record.figures.iter().find(|figure| figure.name == TO_BEST)?;
    ratio.of.get("rival").map(String::as_str)
}

fn of_config<'a>(record: &'a Record, name: &str, config: &str) -> Option<&'a Figure> {
    record.figure(name, &[("config", if config == BEST { best(record)? } else { config })])
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Unit, labels};

    use super::*;

    #[test]
    fn the_best_stock_filters_have_a_column_and_are_named() {
        let reads = |config: &str, value| {
            Figure::new("all_reads_per_get", labels([("config", config.to_owned())]), value, Unit::PerLookup)
        };
        let to_best = labels([("config", "ours".to_owned()), ("rival", "b".to_owned())]);
        let figures = vec![
            reads("a", 1.0),
            reads("b", 0.5),
            reads("ours", 0.25),
            Figure::new(TO_BEST, to_best, 0.5, Unit::Ratio),
        ];
        let record = Clock::start().finish(vec![], 1, &(), figures).expect("a record");
        let columns = ["a", BEST, "ours"].map(str::to_owned);
        assert_eq!(
            table(&[("x", &record)], &["all_reads_per_get".to_owned()], &columns).to_string(),
            "|  | figure | `a` | `best stock` | `ours` |\n|---|---|---|---|---|\n\
             | x | all reads per lookup | 1.000 | 0.500 | 0.250 |\n|  | to best stock, `b` | - | - | 0.50 |\n"
        );
    }
}
