//! YCSB's workloads: section 4.3.

use super::{Figure, RATE, READS, fewer_reads_beside_writes};
use crate::catalogue::figures::{perfect_ratio, ratio};
use crate::catalogue::stores::{SUBJECTS, TREES, Tree, measured};
use crate::experiment::{Claim, Here};
use crate::run::Run;

pub(super) fn figures() -> Vec<Figure> {
    vec![
        Figure("atc19-fig13a", "Figure 13a", "YCSB on LevelDB", ycsb(0)),
        Figure("atc19-fig13b", "Figure 13b", "YCSB on RocksDB", ycsb(1)),
        Figure("atc19-fig13c", "Figure 13c", "YCSB on PebblesDB", ycsb(2)),
        Figure(
            "atc19-fig13d",
            "Figure 13d",
            "YCSB on MongoDB",
            Here::Not(
                "MongoDB with RocksDB below it is not among what Springbloom is built for; nobody maintains that engine.",
            ),
        ),
    ]
}

/// Workloads of YCSB but E, with the improvements that the paper gives for all stores together.
const WORKLOADS: [(&str, (f64, f64)); 5] = [
    ("a", (1.074, 1.368)),
    ("b", (1.526, 1.715)),
    ("c", (1.99, 2.11)),
    ("d", (1.479, 1.93)),
    ("f", (1.078, 1.466)),
];

/// Half of the reads look up absent keys, as in all experiments of the paper.
fn run(tree: Tree, letter: &str) -> Run {
    tree.reads(&format!("ycsb-{letter}"), &format!("--workload {letter} --zero-result 0.5 --threads 4"))
}

fn ycsb(at: usize) -> Here {
    let (tree, _) = TREES[at];
    let claims = WORKLOADS.into_iter().flat_map(|(letter, paper)| {
        SUBJECTS.map(|(whose, config)| {
            let [rate, reads] = [RATE, READS]
                .map(|figure| move |config| tree.point(&format!("ycsb-{letter}"), figure, config));
            let says = format!("operations of bloom:4, workload {}", letter.to_uppercase());
            Claim::between(says, whose, paper, ratio(rate(config), rate("bloom:4")))
                .timed()
                .counted(ratio(reads("bloom:4"), reads(config)))
                .otherwise(fewer_reads_beside_writes(whose))
                .limit(perfect_ratio(|name| tree.point(&format!("ycsb-{letter}"), name, "bloom:4")))
        })
    });
    measured(WORKLOADS.map(|(letter, _)| run(tree, letter)).into(), claims.collect())
}
