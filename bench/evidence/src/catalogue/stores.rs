//! Runs of `springbloom compare` that many experiments have in common.

use super::figures::{Point, point};
use crate::experiment::{Here, Whose};
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
pub(super) const ROCKSDB: Tree =
    Tree { name: "rocksdb", preset: "leveled", quick_records: 300_000, full_records: 5_000_000 };
/// Universal compaction: sorted runs that overlap, as those of PebblesDB do.
pub(super) const PEBBLESDB: Tree =
    Tree { name: "pebblesdb", preset: "tiered", quick_records: 300_000, full_records: 2_000_000 };
pub(super) const TREES: [(Tree, &str); 3] =
    [(LEVELDB, "LevelDB's tree"), (ROCKSDB, "RocksDB's tree"), (PEBBLESDB, "a tiered tree, for PebblesDB's")];

/// Operations of a run, after those of its size.
const QUICK: &str = "--salts 1 --rounds 1 --warmup 20000 --ops 20000 --load-rounds 0";
const FULL: &str = "--salts 2 --rounds 3 --warmup 300000 --ops 300000 --load-rounds 0";

/// ElasticBF's policy and units: Multi-Queue over segments of 4 MiB, six units of 4 bits, and no negative cache.
pub(super) const PUBLISHED: &str =
    "--policy multi-queue --units bloom:6x4 --segment-data-bytes 4MiB --no-negative-cache";
/// Filters of 4 bits per key. `elastic:4` is Springbloom, or ElasticBF under [`PUBLISHED`].
const CONFIGS: &str = "--configs bloom:4,monkey-bloom:4,elastic:4";

/// What is compared: Springbloom and the published system, each with the suffix of the names of its runs.
pub(super) const SUBJECTS: [(Whose, &str, &str); 2] =
    [(Whose::Springbloom, "", ""), (Whose::Published, "-published", PUBLISHED)];

impl Tree {
    /// A run on databases of this tree.
    pub(super) fn run(self, name: impl Into<String>, arguments: &str) -> Run {
        let Self { name: databases, preset, quick_records, full_records } = self;
        Run::springbloom(
            name,
            Some(databases),
            &format!("compare --preset {preset} {arguments}"),
            &format!("--records {quick_records} {QUICK}"),
            &format!("--records {full_records} {FULL}"),
        )
    }

    /// Lookups with `arguments`, by both subjects. Runs are called `TREE-WHAT` and `TREE-WHAT-published`.
    pub(super) fn reads(self, what: &str, arguments: &str) -> Vec<Run> {
        let run = |(_, suffix, flags): &(Whose, &str, &str)| {
            self.run(self.name_of(what, suffix), &format!("{CONFIGS} {flags} {arguments}"))
        };
        SUBJECTS.iter().map(run).collect()
    }

    pub(super) fn name_of(self, what: &str, suffix: &str) -> String {
        run_name(format!("{}-{what}{suffix}", self.name))
    }

    /// A figure of a filter in one of these runs.
    pub(super) fn point(self, what: &str, suffix: &str, name: &'static str, config: &str) -> Point {
        point(self.name_of(what, suffix), name).of("config", config)
    }
}

/// One thread and 16, half of the lookups for absent keys, Zipf 0.99: the setting of most figures of ElasticBF.
pub(super) fn plain(tree: Tree) -> Vec<Run> {
    tree.reads("reads", "--threads 1,16")
}

pub(super) fn measured(runs: Vec<Run>, claims: Vec<crate::experiment::Claim>) -> Here {
    Here::Measured { runs, claims }
}
