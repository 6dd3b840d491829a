//! Measurements of Springbloom itself, for the page and the tables of documents.

mod cost;
mod losses;
mod memory;
mod popularity;
mod simulated;
mod time;

use crate::experiment::{Experiment, Here, Layout, Paper};
use crate::run::Run;

/// Databases of Setting S1: a leveled tree of four levels.
const SETTING_S1: Option<&str> = Some("setting-s1");
/// Databases of records of 100 B in tables of 1 MiB.
const SMALL: Option<&str> = Some("small");

pub(super) fn experiments() -> Vec<Experiment> {
    [
        memory::experiments(),
        popularity::experiments(),
        time::experiments(),
        cost::experiments(),
        losses::experiments(),
        simulated::experiments(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn tabled(
    id: &'static str,
    place: &'static str,
    shows: &'static str,
    layout: Layout,
    runs: Vec<Run>,
) -> Experiment {
    Experiment { id, paper: Paper::Own, place, shows, here: Here::Tabled { runs, layout } }
}

/// A run in a table of runs: what its line is called, and the run.
type Line = (&'static str, Run);

/// A table with a line for each run.
fn lines(
    id: &'static str,
    place: &'static str,
    shows: &'static str,
    figures: &'static [&'static str],
    lines: Vec<Line>,
) -> Experiment {
    let (labels, runs) = lines.into_iter().unzip();
    tabled(id, place, shows, Layout::Runs { labels, figures }, runs)
}
