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

/// Why fewer reads are saved beside writes than in the paper, by runs of 20,000 operations at 3765eee.
fn fewer_reads_beside_writes(whose: Whose) -> &'static str {
    match whose {
        Whose::Published => {
            "compaction shrinks the tree while keys are written, and its new tables have few units: with a tenth of writes a lookup asks \
             1.2 tables of LevelDB's tree, where bloom:4 wastes .14 reads and ElasticBF .26, with a lifetime of 3 lookups .20, with the \
             policy benefit .14"
        }
        _ => {
            "new tables know less than those that compaction replaced: of the wasted reads of bloom:4 on RocksDB's tree 9% are left \
             without writes and 23% beside as many writes as lookups; where new tables inherit no hotness, 30% instead of 26% of a run of \
             60,000 operations"
        }
    }
}
