//! Whether what a paper reports holds here.

use crate::experiment::{Claim, Experiment, Here, Holds};
use crate::lab::Lab;

/// A claim beside our figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) ours: f64,
    /// Ours divided by the paper's value, or by the end of its range that it must reach.
    pub(crate) ratio: f64,
    pub(crate) holds: bool,
    pub(crate) why: String,
}

/// What is known of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Holds,
    /// Some of its claims do not hold.
    DoesNotHold,
    /// Records are missing.
    NotMeasured,
    /// It cannot be measured here, or not yet.
    NotHere,
}

impl Verdict {
    pub(crate) const ALL: [Self; 4] = [Self::Holds, Self::DoesNotHold, Self::NotMeasured, Self::NotHere];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::NotMeasured => "not measured yet",
            Self::NotHere => "not here",
        }
    }
}

/// The claim from the records; `None` if figures are missing.
pub(crate) fn finding(claim: &Claim, lab: &Lab) -> Option<Finding> {
    let ours = (claim.ours)(lab).filter(|ours| ours.is_finite())?;
    let (least, greatest) = claim.paper;
    let text = |value| claim.shown.text(value);
    let (holds, against, why) = match claim.holds {
        Holds::AtLeast => (ours >= least, least, format!("at least {}", text(least))),
        Holds::AtMost => (ours <= greatest, greatest, format!("at most {}", text(greatest))),
        Holds::Within(factor) => {
            let nearest = ours.clamp(least, greatest);
            let ratio = ours / nearest;
            let holds = (1.0 / factor..=factor).contains(&ratio);
            (holds, nearest, format!("within a factor of {factor} of {}", text(nearest)))
        }
    };
    let why = match (holds, claim.otherwise) {
        (true, _) => format!("it is {why}"),
        (false, "") => format!("it is not {why}"),
        (false, otherwise) => format!("it is not {why}: {otherwise}"),
    };
    Some(Finding { ours, ratio: ours / against, holds, why })
}

/// The findings of an experiment in the order of its claims, and its verdict.
pub(crate) fn judge(experiment: &Experiment, lab: &Lab) -> (Verdict, Vec<Option<Finding>>) {
    let Here::Measured { claims, .. } = &experiment.here else { return (Verdict::NotHere, Vec::new()) };
    let findings: Vec<_> = claims.iter().map(|claim| finding(claim, lab)).collect();
    let verdict = if findings.iter().flatten().any(|finding| !finding.holds) {
        Verdict::DoesNotHold
    } else if findings.iter().any(Option::is_none) {
        Verdict::NotMeasured
    } else {
        Verdict::Holds
    };
    (verdict, findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Shown, Whose};

    fn found(paper: (f64, f64), holds: Holds, ours: f64) -> Finding {
        let claim =
            Claim::between("it", Whose::Springbloom, paper, Box::new(move |_| Some(ours))).holds(holds);
        finding(&claim.otherwise("the disk is slow"), &Lab::default()).expect("a finding")
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
        assert_eq!((low.ratio, low.why.as_str()), (0.5, "it is not at least 2.00 times: the disk is slow"));
        assert_eq!(found((2.0, 3.0), Holds::Within(1.2), 2.2).ratio, 1.0);
    }

    #[test]
    fn an_experiment_holds_if_all_of_its_claims_do() {
        let claim = |ours: Option<f64>| {
            Claim::new("it", Whose::Setting, 1.0, Box::new(move |_| ours)).shown(Shown::Percent)
        };
        let of = |ours: &[Option<f64>]| {
            let claims = ours.iter().map(|&ours| claim(ours)).collect();
            let here = Here::Measured { runs: Vec::new(), claims };
            let experiment =
                Experiment { id: "x", paper: crate::experiment::Paper::Own, place: "", shows: "", here };
            judge(&experiment, &Lab::default()).0
        };
        assert_eq!(of(&[Some(1.0), Some(2.0)]), Verdict::Holds);
        assert_eq!(of(&[Some(1.0), None]), Verdict::NotMeasured);
        assert_eq!(of(&[Some(0.5), None]), Verdict::DoesNotHold);
        assert_eq!(of(&[Some(f64::NAN)]), Verdict::NotMeasured);
    }
}
