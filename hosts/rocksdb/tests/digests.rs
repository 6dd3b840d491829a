//! A lookup computes the digest of its key once, however many tables and units it meets.

mod common;

use parking_lot::Mutex;
use rocksdb::{DB, WaitForCompactOptions};
use springbloom_rocksdb::{
    ElasticFilters,
    testing::{DIGESTS_STEP, digests_computed},
};

use crate::common::{
    IDLE_TIMEOUT, ample,
    contents::{NUMBERS, fill_db, key},
    folder, installed, small_tree,
};

/// The counter belongs to the process: one test at a time.
static COUNTER: Mutex<()> = Mutex::new(());

/// A tree of several levels over one range of keys.
struct Tree {
    elastic: ElasticFilters,
    db: DB,
    _folder: common::Folder,
}

impl Tree {
    fn new() -> Self {
        let (folder, elastic) = (folder(), ample());
        let mut options = small_tree();
        options.set_level_zero_file_num_compaction_trigger(4);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        for round in 0..3 {
            fill_db(&db, &format!("round {round}"));
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
        // Sorted runs above the compacted one.
        for run in 0..3 {
            for number in (run..NUMBERS).step_by(9) {
                db.put(key(number), "run").expect("put");
            }
            db.flush().expect("flush");
        }
        db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        Self { elastic, db, _folder: folder }
    }

    fn visits(&self) -> u64 {
        let outcomes = self.elastic.stats().outcomes;
        outcomes.rejected + outcomes.wasted_reads + outcomes.true_positives
    }

    /// Digests and visits of tables that `run` took.
    fn cost(&self, run: impl FnOnce()) -> (u64, u64) {
        let before = (digests_computed(), self.visits());
        run();
        (digests_computed() - before.0, self.visits() - before.1)
    }
}

/// Absent keys, which visit every sorted run.
fn absent(number: u32) -> Vec<u8> {
    [&key(number)[..], b"?"].concat()
}

#[test]
fn a_get_computes_one_digest() {
    let _alone = COUNTER.lock();
    let tree = Tree::new();
    let lookups = u64::from(NUMBERS);
    let (digests, visits) = tree.cost(|| {
        for number in 0..NUMBERS {
            assert_eq!(tree.db.get_pinned(absent(number)).expect("get").as_deref(), None);
        }
    });
    assert!(visits > 3 * lookups, "the tree is too shallow: {visits} visits of {lookups} lookups");
    assert!(digests.abs_diff(lookups) <= DIGESTS_STEP, "{digests} digests for {lookups} lookups");
}

#[test]
fn a_batch_computes_one_digest_a_key() {
    let _alone = COUNTER.lock();
    let tree = Tree::new();
    let lookups = u64::from(NUMBERS);
    let keys: Vec<_> = (0..NUMBERS).map(absent).collect();
    for batch in [2, 32, 100] {
        let (digests, visits) = tree.cost(|| {
            for keys in keys.chunks(batch) {
                for got in tree.db.multi_get(keys) {
                    assert_eq!(got.expect("multi_get"), None);
                }
            }
        });
        assert!(visits > 3 * lookups, "the tree is too shallow: {visits} visits of {lookups} lookups");
        assert!(
            digests.abs_diff(lookups) <= DIGESTS_STEP,
            "{digests} digests for {lookups} lookups in batches of {batch}"
        );
    }
}
