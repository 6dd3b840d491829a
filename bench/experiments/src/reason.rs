//! Why figures do not hold, in words.

use crate::experiment::Format;
use springbloom_records::distinct;

/// Why a figure does not hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reason {
    /// No filter reaches it in this tree: what one that is never wrong would reach.
    Limit { most: f64, format: Format },
    /// Filters might reach it, if they leave at most this share of the wasted reads of `bloom:4`.
    Left { share: f64 },
    /// It is a time, and the reads that were counted say that it holds.
    Counted { reads: f64, format: Format },
    /// Found out by a measurement of its own.
    Known(String),
}

impl Reason {
    /// Says it for all of a kind, whose values go from `least` to `most`.
    fn said(&self, least: f64, most: f64) -> String {
        let range = |format: &Format| {
            let [least, most] = [least, most].map(|value| format.text(value));
            if least == most { least } else { format!("{least} to {most}") }
        };
        match self {
            Self::Limit { format, .. } => format!(
                "no filter saves that many reads in this tree: without any wasted read it would be {}",
                range(format)
            ),
            Self::Left { .. } => format!(
                "to reach the paper's figure in this tree, at most {} of the other filter's wasted reads may be left",
                range(&Format::Percent)
            ),
            Self::Counted { format, .. } => {
                format!("by times alone: counted in reads it is {}, which holds", range(format))
            }
            Self::Known(text) => text.clone(),
        }
    }

    /// What it has in common with others, and its value.
    pub(crate) fn kind(&self) -> (String, f64) {
        match self {
            Self::Limit { most, format } => (format!("limit {format:?}"), *most),
            Self::Left { share } => ("left".to_owned(), *share),
            Self::Counted { reads, format } => (format!("counted {format:?}"), *reads),
            Self::Known(text) => (text.clone(), 0.0),
        }
    }
}

/// Each kind of reason once, with the range of its values.
pub(crate) fn told(reasons: &[Reason]) -> Vec<String> {
    let kinds = distinct(reasons.iter().map(|reason| reason.kind().0));
    let say = |kind: &String| {
        let of_kind = reasons.iter().filter(|reason| reason.kind().0 == *kind);
        let values = of_kind.clone().map(|reason| reason.kind().1);
        let (least, most) = (values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max));
        of_kind.clone().next().map(|reason| reason.said(least, most))
    };
    kinds.iter().filter_map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_a_kind_are_one_sentence_with_the_range_of_their_values() {
        let limit = |most| Reason::Limit { most, format: Format::Percent };
        let known = || Reason::Known("the disk is slow".to_owned());
        let reads = Reason::Counted { reads: 2.5, format: Format::Times };
        assert_eq!(
            told(&[limit(0.55), known(), limit(0.35), reads, known(), limit(0.4)]),
            [
                "no filter saves that many reads in this tree: without any wasted read it would be 35.0% to 55.0%",
                "the disk is slow",
                "by times alone: counted in reads it is 2.50 times, which holds",
            ]
        );
        assert!(told(&[]).is_empty());
    }
}
