//! A comparison in words: what to take from its table.

use springbloom_console::sizes::Size;

use crate::spread::Spread;

/// The figures of a configuration that are compared in words.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) config: &'a str,
    pub(crate) memory_bytes: f64,
    /// In each turn: all configurations take turns, so that those with one number are neighbours in time.
    pub(crate) lookups_per_s: Vec<f64>,
    pub(crate) wasted_reads: Spread,
    /// Reads of filter blocks per lookup.
    pub(crate) filter_reads: f64,
    /// Not if it is of ours and its budget holds no unit at the end.
    pub(crate) has_filters: bool,
}

/// Two memories are equal up to this factor.
const SAME_MEMORY: f64 = 1.1;
/// A smaller difference is not worth a word.
const DIFFERENCE: f64 = 1.03;
/// Fewer turns do not tell lookups per second apart.
const TURNS_MIN: usize = 3;
/// Fewer reads of filter blocks per lookup are not worth a word.
const FILTER_READS_MIN: f64 = 0.01;

/// Sentences about each configuration of ours: against rivals with as much memory, in reads and in lookups per second, and where it loses.
pub(crate) fn sentences(subjects: &[Subject<'_>]) -> Vec<String> {
    let (ours, rivals): (Vec<_>, Vec<_>) =
        subjects.iter().partition(|subject| subject.config.starts_with("elastic:"));
    ours.into_iter().flat_map(|ours| about(ours, &rivals)).collect()
}

fn about(ours: &Subject<'_>, rivals: &[&Subject<'_>]) -> Vec<String> {
    if !ours.has_filters {
        return vec![format!(
            "{} had no filter in memory: its budget has no room for a table's bookkeeping and a unit. Choose a larger --budget, or more \
             records.",
            ours.config
        )];
    }
    let mut sentences = Vec::new();
    let peers: Vec<_> = rivals.iter().filter(|rival| memory_ratio(rival, ours).is_none()).collect();
    if !peers.is_empty() {
        let pairs = |difference: fn(&Subject<'_>, &Subject<'_>) -> Difference| {
            peers.iter().map(|peer| (peer.config, difference(ours, peer))).collect::<Vec<_>>()
        };
        let memory = Size { bytes: ours.memory_bytes as u64 };
        sentences.push(format!(
            "With the same memory ({memory}), {} wastes {}.",
            ours.config,
            phrases("reads", "about as many reads as", &pairs(Difference::of_reads))
        ));
        sentences.push(format!(
            "It answers {}.",
            phrases(
                "lookups",
                "as many lookups, as far as can be told here, as",
                &pairs(Difference::of_speed)
            )
        ));
    }
    let losses: Vec<_> = rivals.iter().filter_map(|rival| loss(ours, rival)).collect();
    let name = if peers.is_empty() { ours.config } else { "It" };
    if !losses.is_empty() {
        sentences.push(format!("{name} loses to {}.", losses.join("; to ")));
    } else if !rivals.is_empty() {
        sentences.push(format!("{name} loses to none of the others."));
    }
    sentences
}

/// The rival's memory as a multiple of ours; `None` if both are the same.
fn memory_ratio(rival: &Subject<'_>, ours: &Subject<'_>) -> Option<f64> {
    let ratio = rival.memory_bytes / ours.memory_bytes.max(1.0);
    (!(1.0 / SAME_MEMORY..=SAME_MEMORY).contains(&ratio)).then_some(ratio)
}

/// How our figure compares with a rival's: the greater one divided by the smaller one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Difference {
    Less(f64),
    None,
    More(f64),
}

impl Difference {
    /// In wasted reads. `None` if the spreads over mappings overlap.
    fn of_reads(ours: &Subject<'_>, theirs: &Subject<'_>) -> Self {
        let (ours, theirs) = (ours.wasted_reads, theirs.wasted_reads);
        let overlap = ours.min <= theirs.max && theirs.min <= ours.max;
        Self::by(theirs.median / ours.median, overlap)
    }

    /// In lookups per second. `None` if either was faster in some turn.
    fn of_speed(ours: &Subject<'_>, theirs: &Subject<'_>) -> Self {
        let turns = ours.lookups_per_s.iter().zip(&theirs.lookups_per_s);
        let ratios: Vec<_> = turns.map(|(ours, theirs)| theirs / ours).collect();
        match Spread::of(ratios.iter().copied()) {
            Some(Spread { median, min, max }) if ratios.len() >= TURNS_MIN => {
                Self::by(median, min <= 1.0 && max >= 1.0)
            }
            _ => Self::None,
        }
    }

    /// Theirs divided by ours.
    fn by(ratio: f64, cannot_be_told: bool) -> Self {
        match ratio {
            _ if cannot_be_told => Self::None,
            ratio if ratio > DIFFERENCE => Self::Less(ratio),
            ratio if ratio < 1.0 / DIFFERENCE => Self::More(1.0 / ratio),
            _ => Self::None,
        }
    }
}

/// "fewer reads than a (3.7 times) and b (1.52); about as many reads as c".
fn phrases(what: &str, as_many: &str, pairs: &[(&str, Difference)]) -> String {
    let named = |factor: fn(Difference) -> Option<f64>| {
        let mut found: Vec<_> = pairs.iter().filter_map(|&(name, by)| Some((factor(by)?, name))).collect();
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        found
    };
    let less_than = named(|by| if let Difference::Less(ratio) = by { Some(ratio) } else { None });
    let more_than = named(|by| if let Difference::More(ratio) = by { Some(ratio) } else { None });
    let same = pairs.iter().filter(|(_, by)| *by == Difference::None).map(|(name, _)| (*name).to_owned());
    let same: Vec<_> = same.collect();
    let with_factors = |word: &str, found: &[(f64, &str)]| {
        let name = |(at, &(ratio, name)): (usize, &(f64, &str))| {
            if !ratio.is_finite() {
                name.to_owned() // one of the two is 0
            } else if at == 0 {
                format!("{name} ({} times)", digits(ratio))
            } else {
                format!("{name} ({})", digits(ratio))
            }
        };
        format!("{word} {what} than {}", list(&found.iter().enumerate().map(name).collect::<Vec<_>>()))
    };
    let mut parts = Vec::new();
    if !less_than.is_empty() {
        parts.push(with_factors("fewer", &less_than));
    }
    if !more_than.is_empty() {
        parts.push(with_factors("more", &more_than));
    }
    if !same.is_empty() {
        parts.push(format!("{as_many} {}", list(&same)));
    }
    parts.join("; ")
}

/// In what the rival is better, and what it takes for that.
fn loss(ours: &Subject<'_>, rival: &Subject<'_>) -> Option<String> {
    let mut better = Vec::new();
    if let Difference::More(ratio) = Difference::of_reads(ours, rival) {
        better.push(if ratio.is_finite() {
            format!("wastes {} times fewer reads", digits(ratio))
        } else {
            format!("wastes no read ({:.3} per lookup here)", ours.wasted_reads.median)
        });
    }
    if let Difference::Less(ratio) = Difference::of_speed(ours, rival) {
        better.push(format!("answers {} times as many lookups per second", digits(ratio)));
    }
    let mut takes = match memory_ratio(rival, ours) {
        None => "the same memory".to_owned(),
        Some(ratio) if ratio > 1_000.0 => "more than 1,000 times the memory".to_owned(),
        Some(ratio) if ratio > 1.0 => format!("{} times the memory", digits(ratio)),
        Some(_) => "less memory".to_owned(),
    };
    if rival.filter_reads >= FILTER_READS_MIN {
        takes += &format!(" and {:.2} reads of filters per lookup", rival.filter_reads);
    }
    (!better.is_empty()).then(|| format!("{}, which {} with {takes}", rival.config, better.join(" and ")))
}

/// `1.31`, `5.5` or `24`: as many digits as a reader needs.
fn digits(ratio: f64) -> String {
    match ratio {
        ..2.0 => format!("{ratio:.2}"),
        ..10.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

fn list(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In three turns, of which the machine was slower in the second.
    fn subject(config: &str, memory_bytes: f64, lookups_per_s: f64, wasted_reads: f64) -> Subject<'_> {
        let wasted_reads =
            Spread { median: wasted_reads, min: wasted_reads * 0.98, max: wasted_reads * 1.02 };
        let lookups_per_s = [1.0, 0.5, 0.98].map(|speed| lookups_per_s * speed).to_vec();
        Subject { config, memory_bytes, lookups_per_s, wasted_reads, filter_reads: 0.0, has_filters: true }
    }

    #[test]
    fn a_budget_without_room_for_a_filter_is_said() {
        // A few bytes of buffers are in use.
        let ours = Subject { has_filters: false, ..subject("elastic:4", 100.0, 50e3, 3.0) };
        let said = sentences(&[ours, subject("bloom:4", 2.4e6, 40e3, 0.25)]);
        assert!(matches!(&said[..], [hint] if hint.contains("Choose a larger --budget")), "{said:?}");
    }

    #[test]
    fn wins_and_losses_are_said() {
        let subjects = [
            subject("ribbon:4", 2.43e6, 51.5e3, 0.095),
            subject("bloom:4", 2.4e6, 40e3, 0.25),
            subject("elastic:4", 2.38e6, 52e3, 0.045),
            subject("bloom:10", 6e6, 55e3, 0.0141),
            Subject { filter_reads: 0.82, ..subject("partitioned:10", 2.4e6, 20e3, 0.02) },
        ];
        let expected = [
            "With the same memory (2.27 MiB), elastic:4 wastes fewer reads than bloom:4 (5.6 times) and ribbon:4 (2.1); more reads \
             than partitioned:10 (2.2 times).",
            "It answers more lookups than partitioned:10 (2.6 times) and bloom:4 (1.30); as many lookups, as far as can be told here, as \
             ribbon:4.",
            "It loses to bloom:10, which wastes 3.2 times fewer reads and answers 1.06 times as many lookups per second with 2.5 times the \
             memory; to partitioned:10, which wastes 2.2 times fewer reads with the same memory and 0.82 reads of filters per lookup.",
        ];
        assert_eq!(sentences(&subjects), expected);
    }

    #[test]
    fn a_loss_with_the_same_memory_is_said() {
        let subjects = [subject("elastic:4", 1e6, 50e3, 0.09), subject("ribbon:4", 1e6, 60e3, 0.08)];
        let expected = [
            "With the same memory (976.56 KiB), elastic:4 wastes more reads than ribbon:4 (1.12 times).",
            "It answers fewer lookups than ribbon:4 (1.20 times).",
            "It loses to ribbon:4, which wastes 1.12 times fewer reads and answers 1.20 times as many lookups per second with the same \
             memory.",
        ];
        assert_eq!(sentences(&subjects), expected);
    }

    #[test]
    fn times_that_overlap_are_not_told_apart() {
        let unsteady = |config, turns: [f64; 3]| Subject {
            lookups_per_s: turns.to_vec(),
            ..subject(config, 1e6, 50e3, 0.09)
        };
        let subjects = [
            unsteady("elastic:4", [50e3, 50e3, 50e3]),
            unsteady("ribbon:4", [90e3, 80e3, 49e3]),
            unsteady("bloom:4", [50.5e3, 50.5e3, 50.5e3]),
            Subject { lookups_per_s: vec![90e3], ..subject("bloom:5", 1e6, 50e3, 0.09) },
        ];
        let expected = [
            "With the same memory (976.56 KiB), elastic:4 wastes about as many reads as ribbon:4, bloom:4 and bloom:5.",
            "It answers as many lookups, as far as can be told here, as ribbon:4, bloom:4 and bloom:5.",
            "It loses to none of the others.",
        ];
        assert_eq!(sentences(&subjects), expected);
    }

    #[test]
    fn nothing_is_divided_by_nothing() {
        let subjects = [subject("elastic:10", 1e6, 50e3, 0.016), subject("bloom:10", 1e6, 50e3, 0.0)];
        let text = sentences(&subjects).join(" ");
        assert!(text.contains("which wastes no read (0.016 per lookup here) with the same memory"), "{text}");
        let both = [subject("elastic:10", 1e6, 50e3, 0.0), subject("bloom:10", 0.0, 50e3, 0.0)];
        assert_eq!(sentences(&both), ["elastic:10 loses to none of the others."]);
        let none = [subject("elastic:10", 1e6, 50e3, 0.0), subject("bloom:10", 1e6, 50e3, 0.016)];
        let text = sentences(&none).join(" ");
        assert!(
            text.contains("elastic:10 wastes fewer reads than bloom:10.") && !text.contains("inf"),
            "{text}"
        );
        let unfiltered = [subject("elastic:10", 1.0, 50e3, 0.3), subject("bloom:10", 1e6, 50e3, 0.016)];
        let text = sentences(&unfiltered).join(" ");
        assert!(text.contains("with more than 1,000 times the memory"), "{text}");
        assert!(sentences(&subjects[1..]).is_empty(), "there is nothing of ours");
        assert!(sentences(&subjects[..1]).is_empty(), "there is no rival");
    }
}
