//! An experiment of a paper: what it reports, and how that is measured here.

use crate::formula::{Formula, Point};
use crate::run::Run;
use crate::tables::Layout;

/// An experiment.
pub(crate) struct Experiment {
    /// By which it is asked for: `atc19-fig10a`.
    pub(crate) id: String,
    /// The title of the paper.
    pub(crate) paper: String,
    /// Figure, table or section of the paper.
    pub(crate) place: String,
    /// What is measured, in a sentence without full stop.
    pub(crate) shows: String,
    pub(crate) measurement: Measurement,
}

/// How an experiment is measured here.
pub(crate) enum Measurement {
    /// Its claims are computed from the records of `runs`.
    Claims { runs: Vec<Run>, claims: Vec<Claim> },
    /// It is compared with no paper.
    Table { runs: Vec<Run>, layout: Layout },
    /// It cannot be measured, or not yet: why, in a sentence.
    Missing(String),
}

impl Experiment {
    /// The names of the figures that its tables or claims need.
    pub(crate) fn figures(&self) -> Vec<&str> {
        match &self.measurement {
            Measurement::Claims { claims, .. } => claims.iter().flat_map(Claim::figures).collect(),
            Measurement::Table { layout, .. } => layout.figures(),
            Measurement::Missing(_) => Vec::new(),
        }
    }

    pub(crate) fn runs(&self) -> &[Run] {
        match &self.measurement {
            Measurement::Claims { runs, .. } | Measurement::Table { runs, .. } => runs,
            Measurement::Missing(_) => &[],
        }
    }
}

/// What a figure that is compared with the paper's is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The published system, built of Springbloom's parts.
    Published,
    Springbloom,
    /// What every filter or device has in common.
    Setting,
}

impl Subject {
    /// All, in the order in which they are shown.
    pub(crate) const ALL: [Self; 3] = [Self::Setting, Self::Published, Self::Springbloom];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Published => "as published",
            Self::Springbloom => "Springbloom",
            Self::Setting => "setting",
        }
    }
}

/// How far our figure may be from the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tolerance {
    /// Ours is at least the paper's least.
    AtLeast,
    /// Ours is at most the paper's greatest.
    AtMost,
    /// Ours is within this factor of the paper's values.
    Within(f64),
}

/// How figures are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `2.08 times`
    Times,
    /// `59.1%`
    Percent,
    /// `0.146`, with a unit.
    Number(String),
}

impl Format {
    pub(crate) fn text(&self, value: f64) -> String {
        let digits = if value.abs() >= 100.0 { 0 } else { 2 };
        match self {
            Self::Times => format!("{value:.digits$} times"),
            Self::Percent => format!("{:.1}%", value * 100.0),
            Self::Number(unit) => format!("{value:.3} {unit}").trim_end().to_owned(),
        }
    }
}

/// One figure of a paper with ours.
pub(crate) struct Claim {
    /// What the figure is, without full stop.
    pub(crate) says: String,
    pub(crate) subject: Subject,
    /// The least and the greatest value that the paper gives.
    pub(crate) paper: (f64, f64),
    pub(crate) format: Format,
    pub(crate) tolerance: Tolerance,
    /// Whether times were measured, which other work on the machine changes.
    pub(crate) is_timed: bool,
    pub(crate) ours: Formula,
    /// What a filter that is never wrong would reach, where that is known.
    pub(crate) limit: Option<Formula>,
    /// The same in counts, where it is a time that reads decide.
    pub(crate) counted: Option<Formula>,
    /// Why it does not hold, where that is known.
    pub(crate) otherwise: String,
}

impl Claim {
    /// The names of the runs that it needs.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &str> {
        self.points().map(|point| point.run.as_str())
    }

    /// Those of the figures.
    pub(crate) fn figures(&self) -> impl Iterator<Item = &str> {
        self.points().map(|point| point.name.as_str())
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        let formulas = [Some(&self.ours), self.limit.as_ref(), self.counted.as_ref()];
        formulas.into_iter().flatten().flat_map(Formula::points)
    }

    /// `2.08 times`, or `2.08 times to 2.17 times`.
    pub(crate) fn paper_text(&self) -> String {
        let [least, greatest] = [self.paper.0, self.paper.1].map(|value| self.format.text(value));
        if least == greatest { least } else { format!("{least} to {greatest}") }
    }
}
