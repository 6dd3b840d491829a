//! Formulas over the figures of records.

use crate::experiment::Formula;
use crate::lab::Lab;
use crate::run::run_name;

/// A figure of a run.
#[derive(Clone, Debug)]
pub(super) struct Point {
    run: String,
    name: &'static str,
    of: Vec<(&'static str, String)>,
}

/// The figure called `name` of the run `run`.
pub(super) fn point(run: impl Into<String>, name: &'static str) -> Point {
    Point { run: run_name(run), name, of: Vec::new() }
}

impl Point {
    /// The same of a label.
    pub(super) fn of(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.of.push((label, value.into()));
        self
    }

    pub(super) fn value(&self, lab: &Lab) -> Option<f64> {
        let labels: Vec<_> = self.of.iter().map(|(name, value)| (*name, value.as_str())).collect();
        lab.value(&self.run, self.name, &labels)
    }
}

/// The figure itself.
pub(super) fn just(point: Point) -> Formula {
    Box::new(move |lab| point.value(lab))
}

/// One figure divided by another.
pub(super) fn ratio(over: Point, under: Point) -> Formula {
    Box::new(move |lab| Some(over.value(lab)? / under.value(lab)?))
}

/// By what share one figure is less than another.
pub(super) fn reduction(less: Point, more: Point) -> Formula {
    Box::new(move |lab| Some(1.0 - less.value(lab)? / more.value(lab)?))
}

/// By what share a filter that is never wrong would reduce the reads of data; `of` gives figures of the filter in use.
pub(super) fn perfect_reduction(of: impl Fn(&'static str) -> Point) -> Formula {
    ratio(of("wasted_reads_per_get"), of("data_reads_per_get"))
}

/// How many times the reads of data of such a filter the filter in use makes.
pub(super) fn perfect_ratio(of: impl Fn(&'static str) -> Point) -> Formula {
    let saved = perfect_reduction(of);
    Box::new(move |lab| Some(1.0 / (1.0 - saved(lab)?)))
}

/// The greatest of formulas, divided by the least.
pub(super) fn range(formulas: Vec<Formula>) -> Formula {
    Box::new(move |lab| {
        let values: Vec<_> = formulas.iter().map(|formula| formula(lab)).collect::<Option<_>>()?;
        Some(
            values.iter().copied().fold(f64::MIN, f64::max) / values.iter().copied().fold(f64::MAX, f64::min),
        )
    })
}
