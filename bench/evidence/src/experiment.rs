//! An experiment of a paper: what it reports, and how that is measured here.

use crate::lab::Lab;
use crate::run::Run;

/// Where an experiment is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paper {
    Atc19,
    HotStorage18,
    Shamba,
    BloomStore,
    BloomFlash,
    /// Not of a paper.
    Own,
}

impl Paper {
    /// All, in the order in which they are shown.
    pub(crate) const ALL: [Self; 6] =
        [Self::Atc19, Self::HotStorage18, Self::Shamba, Self::BloomStore, Self::BloomFlash, Self::Own];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Atc19 => "ElasticBF (USENIX ATC'19)",
            Self::HotStorage18 => "ElasticBF (HotStorage'18)",
            Self::Shamba => "SHaMBa (VLDB'23, PhD workshop)",
            Self::BloomStore => "BloomStore (MSST'12, slides)",
            Self::BloomFlash => "BloomFlash (ICDCS'11)",
            Self::Own => "Springbloom",
        }
    }
}

/// An experiment.
pub(crate) struct Experiment {
    /// By which it is asked for: `atc19-fig10a`.
    pub(crate) id: &'static str,
    pub(crate) paper: Paper,
    /// Figure, table or section of the paper.
    pub(crate) place: &'static str,
    /// What is measured, in a sentence without full stop.
    pub(crate) shows: &'static str,
    pub(crate) here: Here,
}

/// How an experiment is measured here.
pub(crate) enum Here {
    /// Its claims are computed from the records of `runs`.
    Measured { runs: Vec<Run>, claims: Vec<Claim> },
    /// It is compared with no paper.
    Tabled { runs: Vec<Run>, layout: Layout },
    /// It cannot be measured, or not yet: why, in a sentence.
    Not(&'static str),
}

/// The table of an experiment that is compared with no paper.
pub(crate) enum Layout {
    /// A line for each filter of each run.
    Filters,
    /// A line for each run, which `labels` names, and each of `figures`; a column for each filter.
    Runs { labels: Vec<&'static str>, figures: &'static [&'static str] },
    /// A line for each step, a column for each filter.
    Steps(Steps),
    /// A line for each block cache that pays for all.
    OneCache,
}

/// Figures of one name, in the order of a label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    pub(crate) figure: &'static str,
    /// Has a number in each figure.
    pub(crate) label: &'static str,
    /// Other labels of the figures, with their values.
    pub(crate) with: &'static [(&'static str, &'static str)],
    /// Of the table: what it shows, and what the label is.
    pub(crate) title: &'static str,
}

impl Steps {
    /// Wasted reads by memory.
    pub(crate) const BITS: Self = Self {
        figure: "wasted_reads_per_get",
        label: "bits_per_key",
        with: &[],
        title: "wasted reads per lookup, with so many bits per key",
    };
    /// Wasted reads over time.
    pub(crate) const WINDOWS: Self = Self {
        figure: "window_wasted_reads_per_get",
        label: "end_ops",
        with: &[],
        title: "wasted reads per lookup, until lookup",
    };
}

impl Layout {
    /// Whether it shows filters of several sizes, which can be drawn as lines.
    pub(crate) fn is_by_memory(&self) -> bool {
        match self {
            Self::Filters => true,
            Self::Steps(steps) => steps.label == Steps::BITS.label,
            Self::Runs { .. } | Self::OneCache => false,
        }
    }
}

impl Experiment {
    /// Whether it is measured but compared with no paper.
    pub(crate) fn has_no_claims(&self) -> bool {
        matches!(&self.here, Here::Tabled { .. })
    }

    pub(crate) fn runs(&self) -> &[Run] {
        match &self.here {
            Here::Measured { runs, .. } | Here::Tabled { runs, .. } => runs,
            Here::Not(_) => &[],
        }
    }
}

/// Whose figure is compared with the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// The published system, built of Springbloom's parts.
    Published,
    Springbloom,
    /// What every filter or device has in common.
    Setting,
}

impl Whose {
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

/// What it means that a figure holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Holds {
    /// Ours is at least the paper's least.
    AtLeast,
    /// Ours is at most the paper's greatest.
    AtMost,
    /// Ours is within this factor of the paper's values.
    Within(f64),
}

/// How figures are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// `2.08 times`
    Times,
    /// `59.1%`
    Percent,
    /// `0.146`, with a unit.
    Number(&'static str),
}

impl Shown {
    pub(crate) fn text(self, value: f64) -> String {
        let digits = if value.abs() >= 100.0 { 0 } else { 2 };
        match self {
            Self::Times => format!("{value:.digits$} times"),
            Self::Percent => format!("{:.1}%", value * 100.0),
            Self::Number(unit) => format!("{value:.3} {unit}").trim_end().to_owned(),
        }
    }
}

/// Computes our figure from records.
pub(crate) type Formula = Box<dyn Fn(&Lab) -> Option<f64>>;

/// One figure of a paper beside ours.
pub(crate) struct Claim {
    /// What the figure is, without full stop.
    pub(crate) says: String,
    pub(crate) whose: Whose,
    /// The least and the greatest value that the paper gives.
    pub(crate) paper: (f64, f64),
    pub(crate) shown: Shown,
    pub(crate) holds: Holds,
    /// Whether times were measured, which other work on the machine changes.
    pub(crate) is_timed: bool,
    pub(crate) ours: Formula,
    /// What a filter that is never wrong would reach, where that is known.
    pub(crate) limit: Option<Formula>,
    /// The same in counts, where it is a time that reads decide.
    pub(crate) counted: Option<Formula>,
    /// Why it does not hold, where that is known.
    pub(crate) otherwise: &'static str,
}

impl Claim {
    /// A figure that the paper gives once.
    pub(crate) fn new(says: impl Into<String>, whose: Whose, paper: f64, ours: Formula) -> Self {
        Self::between(says, whose, (paper, paper), ours)
    }

    /// A figure that the paper gives for several systems or workloads.
    pub(crate) fn between(says: impl Into<String>, whose: Whose, paper: (f64, f64), ours: Formula) -> Self {
        Self {
            says: says.into(),
            whose,
            paper,
            shown: Shown::Times,
            holds: Holds::AtLeast,
            is_timed: false,
            ours,
            limit: None,
            counted: None,
            otherwise: "",
        }
    }

    pub(crate) fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    pub(crate) fn holds(self, holds: Holds) -> Self {
        Self { holds, ..self }
    }

    pub(crate) fn timed(self) -> Self {
        Self { is_timed: true, ..self }
    }

    pub(crate) fn limit(self, limit: Formula) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub(crate) fn counted(self, counted: Formula) -> Self {
        Self { counted: Some(counted), ..self }
    }

    pub(crate) fn otherwise(self, otherwise: &'static str) -> Self {
        Self { otherwise, ..self }
    }

    /// `2.08 times`, or `2.08 times to 2.17 times`.
    pub(crate) fn paper_text(&self) -> String {
        let [least, greatest] = [self.paper.0, self.paper.1].map(|value| self.shown.text(value));
        if least == greatest { least } else { format!("{least} to {greatest}") }
    }
}
