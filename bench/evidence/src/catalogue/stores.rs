//! Runs of `springbloom compare` that many experiments have in common.

use super::figures::{Point, point};
use crate::experiment::{Claim, Here, Whose};
use crate::run::{Run, run_name};

/// A tree that stands for one of a paper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    /// Also the folder of its databases.
    pub(super) name: &'static str,
    preset: &'static str,
    quick_records: u32,
    full_records: u32,
}

pub(super) const LEVELDB: Tree =
    Tree { name: "leveldb", preset: "leveldb", quick_records: 300_000, full_records: 5_000_000 };
/// LevelDB with tables of its default size, as in HotStorage'18.
pub(super) const TABLES_OF_2_MIB: Tree =
    Tree { name: "leveldb-2mib", preset: "leveldb-2mib", quick_records: 300_000, full_records: 5_000_000 };
pub(super) const ROCKSDB: Tree =
    Tree { name: "rocksdb", preset: "paper", quick_records: 300_000, full_records: 5_000_000 };
/// Universal compaction: sorted runs that overlap, as those of PebblesDB do.
pub(super) const PEBBLESDB: Tree =
    Tree { name: "pebblesdb", preset: "tiered", quick_records: 300_000, full_records: 2_000_000 };
pub(super) const TREES: [(Tree, &str); 3] =
    [(LEVELDB, "LevelDB's tree"), (ROCKSDB, "RocksDB's tree"), (PEBBLESDB, "a tiered tree, for PebblesDB's")];

/// Operations of a run, after those of its size.
const QUICK: &str = "--salts 1 --rounds 1 --warmup 20000 --ops 20000 --load-rounds 0";
const FULL: &str = "--salts 2 --rounds 3 --warmup 300000 --ops 300000 --load-rounds 0";
/// Of the many runs beside those of the main figures. Wasted reads of 600,000 lookups in all differ by chance by about a hundredth.
const FEWER: &str = "--ops 100000";

/// A configuration that is compared with a paper's figures.
pub(super) type Subject = (Whose, &'static str);

/// ElasticBF as ATC'19 describes it, and Springbloom.
pub(super) const SUBJECTS: [Subject; 2] =
    [(Whose::Published, "elasticbf:4"), (Whose::Springbloom, "elastic:4")];
/// Why ElasticBF saves fewer reads than in the paper, by runs with one of its parts exchanged; nothing is known of Springbloom.
pub(super) fn fewer_reads_saved(whose: Whose) -> &'static str {
    match whose {
        Whose::Published => {
            "hot keys are scattered over all tables, so tables of a level are used alike, and whole units of 4 bits are coarse: on \
             RocksDB's tree ElasticBF wastes .36 reads a lookup, with sixteen Ribbon units .19, with a negative cache .23, with the policy \
             benefit .28 (3765eee)"
        }
        _ => "",
    }
}

/// Filters of 4 bits per key.
const CONFIGS: &str = "--configs bloom:4,monkey-bloom:4,elasticbf:4,elastic:4";

impl Tree {
    /// A run on databases of this tree.
    pub(super) fn run(self, what: &str, arguments: &str) -> Run {
        self.sized(what, arguments, "", "")
    }

    /// The same with fewer operations in a full run.
    pub(super) fn brief(self, what: &str, arguments: &str) -> Run {
        self.sized(what, arguments, "", FEWER)
    }

    /// The same with arguments of each size, which win over those that runs have in common.
    pub(super) fn sized(self, what: &str, arguments: &str, quick: &str, full: &str) -> Run {
        let Self { name: databases, preset, quick_records, full_records } = self;
        Run::springbloom(
            self.name_of(what),
            Some(databases),
            &format!("compare --preset {preset} {arguments}"),
            &format!("--records {quick_records} {}", with(QUICK, quick)),
            &format!("--records {full_records} {}", with(FULL, full)),
        )
    }

    /// Lookups with filters of 4 bits per key, in turns.
    pub(super) fn reads(self, what: &str, arguments: &str) -> Run {
        self.run(what, &format!("{CONFIGS} {arguments}"))
    }

    /// The same with fewer operations in a full run.
    pub(super) fn brief_reads(self, what: &str, arguments: &str) -> Run {
        self.brief(what, &format!("{CONFIGS} {arguments}"))
    }

    pub(super) fn name_of(self, what: &str) -> String {
        run_name(format!("{}-{what}", self.name))
    }

    /// A figure of a filter in one of these runs.
    pub(super) fn point(self, what: &str, name: &'static str, config: &str) -> Point {
        point(self.name_of(what), name).of("config", config)
    }
}

/// One thread and 16, half of the lookups for absent keys, Zipf 0.99: the setting of most figures of ElasticBF.
pub(super) fn plain(tree: Tree) -> Run {
    tree.reads("reads", "--threads 1,16")
}

/// Why a load took longer than in a paper.
pub(super) const LOADS_DIFFER: &str = "times of loads differ by more: in 21 rounds beside other work, 0.65 to 1.72 for the published \
     systems and 0.83 to 1.26 for Springbloom (8fb3762)";

/// Loads with each filter, in turns, as ratios to those with `bloom:4`.
pub(super) fn load() -> Run {
    Run::springbloom(
        "load",
        None,
        "compare --preset leveled --load-only --configs bloom:4,elasticbf:4,elasticbf-file:4,elastic:4",
        "--load-records 200000 --load-rounds 3",
        "--load-records 1000000 --load-rounds 21",
    )
}

/// Flags with values, of which those in `own` win.
fn with(common: &str, own: &str) -> String {
    let own_flags: Vec<_> = own.split_whitespace().step_by(2).collect();
    let words: Vec<_> = common.split_whitespace().collect();
    let kept = words.chunks(2).filter(|pair| !own_flags.contains(&pair[0])).flatten();
    kept.copied().chain(own.split_whitespace()).collect::<Vec<_>>().join(" ")
}

pub(super) fn measured(runs: Vec<Run>, claims: Vec<Claim>) -> Here {
    Here::Measured { runs, claims }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_of_a_run_win_over_those_of_all() {
        assert_eq!(with("--ops 1 --rounds 2", "--ops 3"), "--rounds 2 --ops 3");
        assert_eq!(with("--ops 1", ""), "--ops 1");
    }
}
