//! Whether what a paper reports holds here.

use std::fmt;

use crate::experiment::{Claim, Holds, Shown, Whose};
use crate::formula::Formula;
use crate::lab::Lab;
use crate::reason::{Reason, told};

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
pub(crate) struct Judged {
    /// In the order of the claims.
    pub(crate) findings: Vec<Option<Finding>>,
    /// How many claims of each kind hold.
    counts: [(Whose, Count); 3],
    /// Why some do not hold.
    pub(crate) reasons: Vec<Reason>,
}

impl Judged {
    /// `holds in 3 of 4`.
    pub(crate) fn text(&self) -> String {
        match Count::of(self.findings.iter()) {
            Count { measured: 0, .. } => "not measured".to_owned(),
            count => format!("holds in {count}"),
        }
    }

    /// Of the claims of one kind; none if there are none.
    pub(crate) fn count_of(&self, whose: Whose) -> Option<Count> {
        self.counts.into_iter().find(|(of, count)| *of == whose && count.all > 0).map(|(_, count)| count)
    }
}

/// Whether our figure reaches what it must, and what that is, such as `at least 2.08 times`.
fn bound(claim: &Claim, ours: f64) -> (bool, String) {
    let (least, greatest) = claim.paper;
    let text = |value| claim.shown.text(value);
    match claim.holds {
        Holds::AtLeast => (ours >= least, format!("at least {}", text(least))),
        Holds::AtMost => (ours <= greatest, format!("at most {}", text(greatest))),
        Holds::Within(factor) => {
            let nearest = ours.clamp(least, greatest);
            let holds = (1.0 / factor..=factor).contains(&(ours / nearest));
            (holds, format!("within a factor of {factor} of {}", text(nearest)))
        }
    }
}

/// Why a claim does not hold.
fn reasons_of(claim: &Claim, least: f64, lab: &Lab) -> Vec<Reason> {
    let value = |formula: &Option<Formula>| formula.as_ref().and_then(|formula| formula.value(lab));
    let shown = || claim.shown.clone();
    let limit = value(&claim.limit).filter(|_| claim.holds == Holds::AtLeast);
    if let Some(most) = limit.filter(|limit| *limit < least) {
        return vec![Reason::Limit { most, shown: shown() }];
    }
    if let Some(reads) = value(&claim.counted).filter(|counted| bound(claim, *counted).0) {
        return vec![Reason::Counted { reads, shown: shown() }];
    }
    let known = (!claim.otherwise.is_empty()).then_some(Reason::Known(claim.otherwise.clone()));
    let left = limit.map(|limit| {
        let saved = |figure: f64| if claim.shown == Shown::Percent { figure } else { 1.0 - 1.0 / figure };
        Reason::Left { share: 1.0 - saved(least) / saved(limit) }
    });
    left.into_iter().chain(known).collect()
}

/// The claim from the records; `None` if figures are missing.
pub(crate) fn finding(claim: &Claim, lab: &Lab) -> Option<Finding> {
    let ours = claim.ours.value(lab).filter(|ours| ours.is_finite())?;
    let ((holds, why), (least, _)) = (bound(claim, ours), claim.paper);
    let reasons = if holds { Vec::new() } else { reasons_of(claim, least, lab) };
    let why = match told(&reasons).join("; ") {
        _ if holds => format!("it is {why}"),
        known if known.is_empty() => format!("it is not {why}"),
        known => format!("it is not {why}: {known}"),
    };
    Some(Finding { ours, holds, why, reasons })
}

/// Judges the claims of an experiment.
pub(crate) fn judge(claims: &[Claim], lab: &Lab) -> Judged {
    let findings: Vec<_> = claims.iter().map(|claim| finding(claim, lab)).collect();
    let of = |whose| claims.iter().zip(&findings).filter(move |(claim, _)| claim.whose == whose);
    let counts = Whose::ALL.map(|whose| (whose, Count::of(of(whose).map(|(_, finding)| finding))));
    let reasons = findings.iter().flatten().flat_map(|finding| finding.reasons.clone()).collect();
    Judged { findings, counts, reasons }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(value: Option<f64>) -> Formula {
        let text = value.map_or("missing[run=none]".to_owned(), |value| value.to_string());
        Formula::parse(&text, "", "").expect("a formula")
    }

    fn of(whose: Whose, paper: (f64, f64), ours: Option<f64>) -> Claim {
        Claim {
            says: "it".to_owned(),
            whose,
            paper,
            shown: Shown::Times,
            holds: Holds::AtLeast,
            is_timed: false,
            ours: formula(ours),
            limit: None,
            counted: None,
            otherwise: "the disk is slow".to_owned(),
        }
    }

    fn found(paper: (f64, f64), holds: Holds, ours: f64) -> Finding {
        let claim = Claim { holds, ..of(Whose::Springbloom, paper, Some(ours)) };
        finding(&claim, &Lab::default()).expect("a finding")
    }

    #[test]
    fn bounds() {
        assert!(found((2.0, 3.0), Holds::AtLeast, 2.0).holds);
        assert!(!found((2.0, 3.0), Holds::AtLeast, 1.9).holds);
        assert!(found((2.0, 3.0), Holds::AtMost, 3.0).holds);
        assert!(!found((2.0, 3.0), Holds::AtMost, 3.1).holds);
        for (ours, holds) in [(1.0, false), (1.7, true), (2.5, true), (3.6, true), (3.7, false)] {
            assert_eq!(found((2.0, 3.0), Holds::Within(1.2), ours).holds, holds, "{ours}");
        }
        let low = found((2.0, 3.0), Holds::AtLeast, 1.0);
        assert_eq!(low.why, "it is not at least 2.00 times: the disk is slow");
    }

    fn judged(claims: &[Claim]) -> Judged {
        judge(claims, &Lab::default())
    }

    fn claim(whose: Whose, ours: Option<f64>) -> Claim {
        Claim { shown: Shown::Percent, ..of(whose, (1.0, 1.0), ours) }
    }

    #[test]
    fn what_no_filter_could_reach_is_said() {
        let reason = |limit: f64| {
            let claim = of(Whose::Springbloom, (2.0, 2.0), Some(1.5));
            let claim = Claim { limit: Some(formula(Some(limit))), ..claim };
            told(&finding(&claim, &Lab::default()).expect("a finding").reasons)
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
            let claim = of(Whose::Springbloom, (2.0, 2.0), Some(1.5));
            let claim = Claim { is_timed: true, counted: Some(formula(Some(counted))), ..claim };
            told(&finding(&claim, &Lab::default()).expect("a finding").reasons)
        };
        assert!(reason(2.5)[0].contains("counted in reads it is 2.50 times"), "{:?}", reason(2.5));
        assert_eq!(reason(1.9), ["the disk is slow"]);
    }

    #[test]
    fn claims_that_hold_are_counted() {
        let of = |ours: &[Option<f64>]| {
            let claims: Vec<_> = ours.iter().map(|&ours| claim(Whose::Setting, ours)).collect();
            judged(&claims).text()
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
        let judged = judged(&[
            claim(Whose::Published, Some(0.5)),
            claim(Whose::Springbloom, Some(2.0)),
            claim(Whose::Published, Some(0.2)),
        ]);
        let text = |whose| judged.count_of(whose).map(|count| count.to_string());
        assert_eq!(text(Whose::Published).as_deref(), Some("0 of 2"));
        assert_eq!(text(Whose::Springbloom).as_deref(), Some("1 of 1"));
        assert_eq!(text(Whose::Setting), None);
        assert_eq!(told(&judged.reasons), ["the disk is slow"]);
    }
}
