//! Tables of measurements that are compared with no paper.

mod cells;
mod filters;
mod rivals;
mod runs;

pub(crate) use cells::{Table, shown};

use crate::record_store::RecordStore;
use crate::run::Run;

/// Figures of a table with a line for each filter.
const OF_FILTERS: [&str; 3] = ["filter_bytes", "wasted_reads_per_get", "filter_reads_per_get"];
/// Figures of a table with a line for each run, in addition to those that it names.
const OF_RUNS: [&str; 3] = ["filter_bytes", "memory_bytes", "all_reads_to_best_stock"];

/// The table of an experiment that is compared with no paper.
pub(crate) enum Layout {
    /// A line for each filter of each run.
    Filters,
    /// A line for each run, with its label or its name, and each of `figures`; a column for each of `columns`, or for each filter where
    /// there are none.
    Runs { labels: Vec<String>, figures: Vec<String>, columns: Vec<String> },
}

impl Layout {
    /// The names of the figures that the table needs.
    pub(crate) fn figures(&self) -> Vec<&str> {
        match self {
            Self::Filters => OF_FILTERS.to_vec(),
            Self::Runs { figures, .. } => figures.iter().map(String::as_str).chain(OF_RUNS).collect(),
        }
    }
}

impl Table {
    /// The table of `runs`; those without a record are left out.
    pub(crate) fn of<'a>(layout: &'a Layout, runs: &'a [Run], store: &'a RecordStore) -> Self {
        match layout {
            Layout::Filters => filters::table(runs.iter().filter_map(|run| store.get(&run.name))),
            Layout::Runs { labels, figures, columns } => {
                let label = |at: usize, run: &'a Run| labels.get(at).unwrap_or(&run.name).as_str();
                let lines = runs.iter().enumerate();
                let lines = lines.filter_map(|(at, run)| Some((label(at, run), store.get(&run.name)?)));
                let lines: Vec<_> = lines.collect();
                if columns.is_empty() {
                    runs::table(&lines, figures)
                } else {
                    rivals::table(&lines, figures, columns)
                }
            }
        }
    }
}
