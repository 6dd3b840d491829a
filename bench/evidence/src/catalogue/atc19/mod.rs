//! ElasticBF, USENIX ATC'19: `motivation` (sections 1 to 3), `micro` (4.2), `ycsb` (4.3), `monkey` (4.4), `settings` (4.5).

mod micro;
mod monkey;
mod motivation;
mod settings;
mod ycsb;

use super::stores::{SUBJECTS, TREES, Tree};
use crate::experiment::{Claim, Experiment, Here, Paper, Whose};

const READS: &str = "data_reads_per_get";
const RATE: &str = "lookups_per_s";

pub(super) fn experiments() -> Vec<Experiment> {
    let here = motivation::figures()
        .into_iter()
        .chain(micro::figures())
        .chain(ycsb::figures())
        .chain(monkey::figures())
        .chain(settings::figures());
    here.map(|Figure(id, place, shows, here)| Experiment { id, paper: Paper::Atc19, place, shows, here })
        .collect()
}

/// Id, place in the paper, what it shows, and how that is measured here.
struct Figure(&'static str, &'static str, &'static str, Here);

/// One claim for each tree and subject.
fn on_trees(claim: impl Fn(usize, Tree, &'static str, Whose, &'static str) -> Claim) -> Vec<Claim> {
    let trees = TREES.into_iter().enumerate();
    trees
        .flat_map(|(at, (tree, called))| {
            SUBJECTS.map(|(whose, config)| claim(at, tree, called, whose, config))
        })
        .collect()
}
