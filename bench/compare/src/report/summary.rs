//! A comparison in words, below its table.

use springbloom_records::{Figure, Labels, Unit, distinct};

use crate::database::open::UNITS;
use crate::run::{Row, labels_of};

/// Two memories are equal up to this factor.
const SAME_MEMORY: f64 = 1.1;
/// A smaller difference is not worth a word.
const DIFFERENCE: f64 = 1.03;
/// Fewer turns do not tell lookups per second apart: by chance, the same one of two is faster in all of six in one of 32 comparisons.
const TURNS_MIN: usize = 6;
/// Fewer reads of filter blocks per lookup are not worth a word.
const FILTER_READS_MIN: f64 = 0.01;

/// A sentence about each configuration of ours and each other one, with the most threads, where wasted reads were counted.
pub(crate) fn sentences(rows: &[Row], figures: &[Figure]) -> Vec<String> {
    let threads = rows.iter().map(|row| row.threads).max().unwrap_or_default();
    let configs = distinct(rows.iter().map(|row| row.config.as_str()));
    let (all_ours, others): (Vec<_>, Vec<_>) =
        configs.into_iter().partition(|config| config.starts_with("elastic:"));
    let figure = |name: &str, config: &str| {
        figures.iter().find(|figure| figure.name == name && figure.of == labels_of(config, threads))
    };
    let value = |name, config| figure(name, config).map_or(0.0, |figure| figure.value);
    let mut sentences = Vec::new();
    for ours in all_ours {
        let units = figures.iter().find(|figure| figure.is_of(&[("config", ours), ("part", UNITS)]));
        if units.is_some_and(|units| units.value == 0.0) {
            sentences.push(format!(
                "{ours} had no filter in memory: its budget has no room for a table's bookkeeping and a unit. Choose a larger --budget, \
                 or more records."
            ));
            continue;
        }
        for &other in &others {
            const WASTED: &str = "wasted_reads_per_get";
            let (Some(own), Some(rival)) = (figure(WASTED, ours), figure(WASTED, other)) else { continue };
            let memory = value("filter_bytes", other) / value("filter_bytes", ours).max(1.0);
            let mut rivals = match memory {
                0.0 => "no filter".to_owned(),
                _ if is_as_much(memory, SAME_MEMORY) => "the same memory".to_owned(),
                _ => format!("{} times the memory", digits(memory)),
            };
            let filter_reads = value("filter_reads_per_get", other);
            if filter_reads >= FILTER_READS_MIN {
                rivals += &format!(" and {filter_reads:.2} filter reads");
            }
            let lookups = lookups(lookups_ratios(rows, (ours, other), threads));
            sentences.push(format!("{ours} {} {other} with {rivals};\n  {lookups}", reads(own, rival)));
        }
    }
    sentences
}

/// Lookups per second with one configuration divided by those with another one, in each round under each mapping.
pub(super) fn lookups_ratios(rows: &[Row], (config, other): (&str, &str), threads: u32) -> Vec<f64> {
    let of = |config: &str| -> Vec<&Row> {
        rows.iter().filter(|row| (row.config.as_str(), row.threads) == (config, threads)).collect()
    };
    let rivals = of(other);
    let ratios = of(config).into_iter().flat_map(|row| {
        let rival = rivals.iter().find(|rival| rival.hot_key_seed == row.hot_key_seed);
        let theirs = rival.map_or(&[][..], |rival| &rival.ops_per_s_by_round);
        row.ops_per_s_by_round.iter().zip(theirs).map(|(ours, theirs)| ours / theirs)
    });
    ratios.collect()
}

/// How our wasted reads compare, unless their spreads over choices of hot keys overlap.
fn reads(ours: &Figure, theirs: &Figure) -> String {
    let [least, most] =
        [|it: &Figure| it.least.unwrap_or(it.value), |it: &Figure| it.most.unwrap_or(it.value)];
    let overlap = least(ours) <= most(theirs) && least(theirs) <= most(ours);
    match ours.value / theirs.value {
        ratio if overlap || is_as_much(ratio, DIFFERENCE) => "wastes about as many reads as".to_owned(),
        0.0 => "wastes no reads, unlike".to_owned(),
        f64::INFINITY => format!("wastes {:.3} reads per lookup, unlike", ours.value),
        ratio if ratio < 1.0 => format!("wastes {} times fewer reads than", digits(1.0 / ratio)),
        ratio => format!("wastes {} times as many reads as", digits(ratio)),
    }
}

/// How our lookups per second compare, by their ratios to theirs in all turns: not at all if either was faster in some turn.
fn lookups(ratios: Vec<f64>) -> String {
    let turns = ratios.len();
    match Figure::over("", Labels::new(), ratios, Unit::TimeRatio) {
        Some(Figure { value, least: Some(least), most: Some(most), .. })
            if turns >= TURNS_MIN && !(least..=most).contains(&1.0) && !is_as_much(value, DIFFERENCE) =>
        {
            format!("it answers {} times as many lookups per second.", digits(value))
        }
        _ => "their lookups per second cannot be told apart here.".to_owned(),
    }
}

fn is_as_much(ratio: f64, up_to: f64) -> bool {
    (1.0 / up_to..=up_to).contains(&ratio)
}

/// `1.31`, `5.5` or `24`: as many digits as a reader needs.
fn digits(ratio: f64) -> String {
    match ratio {
        ..2.0 => format!("{ratio:.2}"),
        ..10.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::comparison::figures;

    /// Under two choices of hot keys in three rounds each, of which the machine was slower in the second.
    fn rows(config: &str, filter_bytes: f64, lookups_per_s: f64, wasted: f64) -> [Row; 2] {
        let figure = |name, value, unit| Figure::new(name, labels_of(config, 1), value, unit);
        [1, 2].map(|hot_key_seed| Row {
            config: config.to_owned(),
            hot_key_seed,
            threads: 1,
            ops_per_s_by_round: vec![lookups_per_s, lookups_per_s * 0.5, lookups_per_s * 0.98],
            figures: vec![
                figure("filter_bytes", filter_bytes, Unit::Bytes),
                figure(
                    "wasted_reads_per_get",
                    wasted * (0.97 + 0.02 * f64::from(hot_key_seed)),
                    Unit::PerLookup,
                ),
            ],
        })
    }

    fn said(rows: &[[Row; 2]]) -> Vec<String> {
        let rows = rows.concat();
        sentences(&rows, &figures(&rows, "none"))
    }

    #[test]
    fn wins_and_losses_are_said_with_what_they_take() {
        let mut partitioned = rows("partitioned:10", 2.4e6, 20e3, 0.02);
        for row in &mut partitioned {
            row.figures.push(Figure::new(
                "filter_reads_per_get",
                labels_of("partitioned:10", 1),
                0.82,
                Unit::PerLookup,
            ));
        }
        let said = said(&[
            rows("none", 0.0, 20e3, 1.2),
            rows("ribbon:4", 2.43e6, 51.5e3, 0.095),
            rows("elastic:4", 2.38e6, 52e3, 0.045),
            rows("bloom:10", 6e6, 55e3, 0.0141),
            partitioned,
        ]);
        let expected = [
            "elastic:4 wastes 27 times fewer reads than none with no filter;\n  it answers 2.6 times as many lookups per second.",
            "elastic:4 wastes 2.1 times fewer reads than ribbon:4 with the same memory;\n  their lookups per second cannot be told apart \
             here.",
            "elastic:4 wastes 3.2 times as many reads as bloom:10 with 2.5 times the memory;\n  it answers 0.95 times as many lookups per \
             second.",
            "elastic:4 wastes 2.2 times as many reads as partitioned:10 with the same memory and 0.82 filter reads;\n  it answers 2.6 \
             times as many lookups per second.",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn what_overlaps_is_not_told_apart() {
        // Five turns are faster and one is slower.
        let mut ribbon = rows("ribbon:4", 1e6, 40e3, 0.0905);
        ribbon[1].ops_per_s_by_round[1] = 26e3;
        let mut once = rows("bloom:4", 1e6, 20e3, 0.2);
        for row in &mut once {
            row.ops_per_s_by_round.truncate(2);
        }
        let said = said(&[rows("elastic:4", 1e6, 50e3, 0.09), ribbon, once]);
        let expected = ["about as many reads as ribbon:4", "2.2 times fewer reads than bloom:4"].map(|reads| {
            format!(
                "elastic:4 wastes {reads} with the same memory;\n  their lookups per second cannot be told apart here."
            )
        });
        assert_eq!(said, expected);
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let with = |ours: f64, theirs: f64| {
            said(&[rows("elastic:10", 1e6, 50e3, ours), rows("bloom:10", 1e6, 50e3, theirs)])[0].clone()
        };
        assert!(
            with(0.016, 0.0).starts_with("elastic:10 wastes 0.016 reads per lookup, unlike bloom:10 with")
        );
        assert!(with(0.0, 0.016).starts_with("elastic:10 wastes no reads, unlike bloom:10 with"));
        assert!(with(0.0, 0.0).starts_with("elastic:10 wastes about as many reads as bloom:10 with"));
        assert!(said(&[rows("elastic:10", 1e6, 50e3, 0.1)]).is_empty(), "there is no rival");
        assert!(said(&[rows("bloom:10", 1e6, 50e3, 0.1)]).is_empty(), "there is nothing of ours");
    }

    #[test]
    fn a_budget_without_room_for_a_filter_is_said() {
        let mut ours = rows("elastic:4", 100.0, 50e3, 3.0);
        for row in &mut ours {
            let of = labels_of("elastic:4", 1).into_iter().chain([("part".to_owned(), UNITS.to_owned())]);
            row.figures.push(Figure::new("budget_bytes", of.collect(), 0.0, Unit::Bytes));
        }
        let said = said(&[ours, rows("bloom:4", 2.4e6, 40e3, 0.25)]);
        assert!(matches!(&said[..], [hint] if hint.contains("Choose a larger --budget")), "{said:?}");
    }
}
