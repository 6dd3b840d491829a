//! Whether what a paper reports holds here.

use std::fmt;

use crate::experiment::{Claim, Format, Subject, Tolerance};
use crate::formula::Formula;
use crate::reason::{Reason, told};
use crate::record_store::RecordStore;

/// A claim with our figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) ours: f64,
    pub(crate) holds: bool,
    pub(crate) why: String,
    /// Why it does not hold, where that is known.
    reasons: Vec<Reason>,
}

/// How many claims hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) held: usize,
    pub(crate) measured: usize,
    pub(crate) all: usize,
}

impl Count {
    fn of<'a>(findings: impl Iterator<Item = &'a Option<Finding>>) -> Self {
        findings.fold(Self::default(), |Self { held, measured, all }, finding| Self {
            held: held + usize::from(finding.as_ref().is_some_and(|finding| finding.holds)),
            measured: measured + usize::from(finding.is_some()),
            all: all + 1,
        })
    }
}

impl fmt::Display for Count {
    /// `3 of 4`, with how many are not measured.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { held, measured, all } = self;
        write!(f, "{held} of {all}")?;
        match all - measured {
            0 => Ok(()),
            missing => write!(f, ", {missing} not measured"),
        }
    }
}

/// What is known of an experiment's claims.
#[derive(Debug)]
pub(crate) struct Verdicts {
    /// In the order of the claims.
    pub(crate) findings: Vec<Option<Finding>>,
    /// How many claims of each kind hold.
    counts: [(Subject, Count); 3],
    /// Why some do not hold.
    pub(crate) reasons: Vec<Reason>,
}

impl Verdicts {
    /// `holds in 3 of 4`.
    pub(crate) fn text(&self) -> String {
        match Count::of(self.findings.iter()) {
            Count { measured: 0, .. } => "not measured".to_owned(),
            count => format!("holds in {count}"),
        }
    }

    /// Of the claims of one kind; none if there are none.
    pub(crate) fn count_of(&self, subject: Subject) -> Option<Count> {
        self.counts.into_iter().find(|(of, count)| *of == subject && count.all > 0).map(|(_, count)| count)
    }
}

/// Whether our figure reaches what it must, and what that is, such as `at least 2.08 times`.
fn bound(claim: &Claim, ours: f64) -> (bool, String) {
    let (least, greatest) = claim.paper;
    let text = |value| claim.format.text(value);
    match claim.tolerance {
        Tolerance::AtLeast => (ours >= least, format!("at least {}", text(least))),
        Tolerance::AtMost => (ours <= greatest, format!("at most {}", text(greatest))),
        Tolerance::Within(factor) => {
            let nearest = ours.clamp(least, greatest);
            let holds = (1.0 / factor..=factor).contains(&(ours / nearest));
            (holds, format!("within a factor of {factor} of {}", text(nearest)))
        }
    }
}

/// Why a claim does not hold.
fn reasons_of(claim: &Claim, least: f64, store: &RecordStore) -> Vec<Reason> {
    let value = |formula: &Option<Formula>| formula.as_ref().and_then(|formula| formula.value(store));
    let format = || claim.format.clone();
    let limit = value(&claim.limit).filter(|_| claim.tolerance == Tolerance::AtLeast);
    if let Some(most) = limit.filter(|limit| *limit < least) {
        return vec![Reason::Limit { most, format: format() }];
    }
    if let Some(reads) = value(&claim.counted).filter(|counted| bound(claim, *counted).0) {
        return vec![Reason::Counted { reads, format: format() }];
    }
    let known = (!claim.otherwise.is_empty()).then_some(Reason::Known(claim.otherwise.clone()));
    let left = limit.map(|limit| {
        let saved = |figure: f64| if claim.format == Format::Percent { figure } else { 1.0 - 1.0 / figure };
        Reason::Left { share: 1.0 - saved(least) / saved(limit) }
    });
    left.into_iter().chain(known).collect()
}

/// The claim from the records; `None` if figures are missing.
pub(crate) fn finding(claim: &Claim, store: &RecordStore) -> Option<Finding> {
    let ours = claim.ours.value(store).filter(|ours| ours.is_finite())?;
    let ((holds, why), (least, _)) = (bound(claim, ours), claim.paper);
    let reasons = if holds { Vec::new() } else { reasons_of(claim, least, store) };
    let why = match told(&reasons).join("; ") {
        _ if holds => format!("it is {why}"),
        known if known.is_empty() => format!("it is not {why}"),
        known => format!("it is not {why}: {known}"),
    };
    Some(Finding { ours, holds, why, reasons })
}

/// Judges the claims of an experiment.
pub(crate) fn judge(claims: &[Claim], store: &RecordStore) -> Verdicts {
    let findings: Vec<_> = claims.iter().map(|claim| finding(claim, store)).collect();
    let of = |subject| claims.iter().zip(&findings).filter(move |(claim, _)| claim.subject == subject);
    let counts = Subject::ALL.map(|subject| (subject, Count::of(of(subject).map(|(_, finding)| finding))));
    let reasons = findings.iter().flatten().flat_map(|finding| finding.reasons.clone()).collect();
    Verdicts { findings, counts, reasons }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(value: Option<f64>) -> Formula {
        let text = value.map_or("missing[run=none]".to_owned(), |value| value.to_string());
        Formula::parse(&text, "", "").expect("a formula")
    }

    fn of(subject: Subject, paper: (f64, f64), ours: Option<f64>) -> Claim {
        Claim {
            says: "it".to_owned(),
            subject,
            paper,
            format: Format::Times,
            tolerance: Tolerance::AtLeast,
            is_timed: false,
            ours: formula(ours),
            limit: None,
            counted: None,
            otherwise: "the disk is slow".to_owned(),
        }
    }

    fn found(paper: (f64, f64), tolerance: Tolerance, ours: f64) -> Finding {
        let claim = Claim { tolerance, ..of(Subject::Springbloom, paper, Some(ours)) };
        finding(&claim, &RecordStore::default()).expect("a finding")
    }

    #[test]
    fn bounds() {
        assert!(found((2.0, 3.0), Tolerance::AtLeast, 2.0).holds);
        assert!(!found((2.0, 3.0), Tolerance::AtLeast, 1.9).holds);
        assert!(found((2.0, 3.0), Tolerance::AtMost, 3.0).holds);
        assert!(!found((2.0, 3.0), Tolerance::AtMost, 3.1).holds);
        for (ours, holds) in [(1.0, false), (1.7, true), (2.5, true), (3.6, true), (3.7, false)] {
            assert_eq!(found((2.0, 3.0), Tolerance::Within(1.2), ours).holds, holds, "{ours}");
        }
        let low = found((2.0, 3.0), Tolerance::AtLeast, 1.0);
        assert_eq!(low.why, "it is not at least 2.00 times: the disk is slow");
    }

    fn verdicts(claims: &[Claim]) -> Verdicts {
        judge(claims, &RecordStore::default())
    }

    fn claim(subject: Subject, ours: Option<f64>) -> Claim {
        Claim { format: Format::Percent, ..of(subject, (1.0, 1.0), ours) }
    }

    #[test]
    fn what_no_filter_could_reach_is_said() {
        let reason = |limit: f64| {
            let claim = of(Subject::Springbloom, (2.0, 2.0), Some(1.5));
            let claim = Claim { limit: Some(formula(Some(limit))), ..claim };
            told(&finding(&claim, &RecordStore::default()).expect("a finding").reasons)
        };
        assert!(
            reason(1.7)[0].contains("without any wasted read it would be 1.70 times"),
            "{:?}",
            reason(1.7)
        );
        let left = "to reach the paper's figure in this tree, at most 16.7% of the other filter's wasted reads may be left";
        assert_eq!(reason(2.5), [left, "the disk is slow"]);
    }

    #[test]
    fn what_counts_say_of_a_time_is_said_if_it_holds() {
        let reason = |counted: f64| {
            let claim = of(Subject::Springbloom, (2.0, 2.0), Some(1.5));
            let claim = Claim { is_timed: true, counted: Some(formula(Some(counted))), ..claim };
            told(&finding(&claim, &RecordStore::default()).expect("a finding").reasons)
        };
        assert!(reason(2.5)[0].contains("counted in reads it is 2.50 times"), "{:?}", reason(2.5));
        assert_eq!(reason(1.9), ["the disk is slow"]);
    }

    #[test]
    fn claims_that_hold_are_counted() {
        let of = |ours: &[Option<f64>]| {
            let claims: Vec<_> = ours.iter().map(|&ours| claim(Subject::Setting, ours)).collect();
            verdicts(&claims).text()
        };
        for (ours, text) in [
            (&[Some(1.0), Some(2.0)][..], "holds in 2 of 2"),
            (&[Some(1.0), Some(0.5), None], "holds in 1 of 3, 1 not measured"),
            (&[Some(0.5), Some(0.1)], "holds in 0 of 2"),
            (&[Some(f64::INFINITY)], "not measured"),
        ] {
            assert_eq!(of(ours), text, "{ours:?}");
        }
    }

    #[test]
    fn the_published_system_and_ours_are_counted_apart() {
        let verdicts = verdicts(&[
            claim(Subject::Published, Some(0.5)),
            claim(Subject::Springbloom, Some(2.0)),
            claim(Subject::Published, Some(0.2)),
        ]);
        let text = |subject| verdicts.count_of(subject).map(|count| count.to_string());
        assert_eq!(text(Subject::Published).as_deref(), Some("0 of 2"));
        assert_eq!(text(Subject::Springbloom).as_deref(), Some("1 of 1"));
        assert_eq!(text(Subject::Setting), None);
        assert_eq!(told(&verdicts.reasons), ["the disk is slow"]);
    }
}
