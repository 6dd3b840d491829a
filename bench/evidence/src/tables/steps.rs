//! Figures in steps: windows of lookups one after the other, or memory.

use springbloom_records::{Figure, Record};

use super::{Table, columns, configs, shown, spread};
use crate::experiment::Steps;

/// A line for each step, a column for each filter.
pub(super) fn table<'a>(records: impl Iterator<Item = &'a Record> + Clone, steps: &Steps) -> Table {
    let configs = configs(records.clone(), &steps.figure);
    let step = |figure: &'a Figure| figure.of.get(&steps.label).map(String::as_str);
    let with: Vec<_> = steps.with.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let is_shown = |figure: &&Figure| figure.name == steps.figure && figure.is_of(&with);
    let figures = || records.clone().flat_map(|record| &record.figures).filter(is_shown);
    let mut lines: Vec<(f64, &str)> =
        figures().filter_map(step).filter_map(|text| Some((text.parse().ok()?, text))).collect();
    lines.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    lines.dedup();
    let titles = [steps.title.clone()].into_iter().chain(columns(&configs)).collect();
    let row = |&(_, text): &(f64, &str)| {
        let cell = |config: &&str| {
            let mut of =
                figures().filter(|figure| step(figure) == Some(text) && figure.is_of(&[("config", config)]));
            of.next().map_or("-".to_owned(), |figure| spread(figure, 3))
        };
        [shown(text)].into_iter().chain(configs.iter().map(cell)).collect()
    };
    Table { titles, rows: lines.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Unit, labels};

    use super::*;

    #[test]
    fn steps_stand_in_the_order_of_their_numbers() {
        let at = |config: &str, step: &str, law: &str, value| {
            let of = [("config", config), ("step", step), ("law", law)];
            Figure::new("x", labels(of.map(|(name, text)| (name, text.to_owned()))), value, Unit::PerLookup)
        };
        let of = |config, step, value| at(config, step, "uniform", value);
        let figures = vec![
            at("a:1", "500", "zipf", 0.5),
            of("a:1", "1000", 0.2),
            of("a:1", "500", 0.1),
            of("b:1", "1000", 0.3),
            of("b:1", "x", 0.4),
        ];
        let record = Clock::start().finish(vec![], 1, &(), figures).expect("a record");
        let steps = Steps {
            figure: "x".to_owned(),
            label: "step".to_owned(),
            with: vec![("law".to_owned(), "uniform".to_owned())],
            title: "wasted reads, until lookup".to_owned(),
        };
        assert_eq!(
            table([&record].into_iter(), &steps).to_string(),
            "| wasted reads, until lookup | `a:1` | `b:1` |\n|---|---|---|\n| 500 | 0.100 | - |\n| 1000 | 0.200 | 0.300 |\n"
        );
    }
}
