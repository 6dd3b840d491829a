//! A lookup computes the digest of its key once, however many tables and units it meets.

use rocksdb::{DB, WaitForCompactOptions};
use springbloom_rocksdb::{
    ElasticFilters,
    testing::{DIGESTS_STEP, digests_computed},
    usage::Usage,
};

use crate::common::{
    Folder, IDLE_TIMEOUT, ample,
    contents::{NUMBERS, fill_db, key},
    folder, installed, small_tree,
};

/// A tree of several levels over one range of keys.
struct Tree {
    elastic: ElasticFilters,
    db: DB,
    _folder: Folder,
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
        let before = (digests_computed(&self.elastic), self.visits());
        run();
        (digests_computed(&self.elastic) - before.0, self.visits() - before.1)
    }
}

/// Absent keys, which visit every sorted run.
fn absent(number: u32) -> Vec<u8> {
    [&key(number)[..], b"?"].concat()
}

/// The same, longer by this many bytes.
fn long_absent(number: u32, more: usize) -> Vec<u8> {
    [absent(number), vec![b'?'; more]].concat()
}

#[test]
fn a_get_computes_one_digest() {
    let tree = Tree::new();
    let lookups = u64::from(NUMBERS);
    for more in [0, 200, 4000] {
        let (digests, visits) = tree.cost(|| {
            for number in 0..NUMBERS {
                assert_eq!(tree.db.get_pinned(long_absent(number, more)).expect("get").as_deref(), None);
            }
        });
        assert!(visits > 3 * lookups, "the tree is too shallow: {visits} visits of {lookups} lookups");
        assert!(digests.abs_diff(lookups) <= DIGESTS_STEP, "{digests} digests for {lookups} lookups");
    }
}

#[test]
fn keys_of_any_length_are_told_apart() {
    let tree = Tree::new();
    // Each is a prefix of the next, and the last ones are longer than what a thread remembers.
    let lengths = [0, 1, 10, 90, 400, 1000, 4000, 5000, 20_000];
    let keys: Vec<_> = lengths.iter().map(|&more| long_absent(7, more)).collect();
    for key in keys.iter().step_by(2) {
        tree.db.put(key, key).expect("put");
    }
    tree.db.flush().expect("flush");
    for _ in 0..3 {
        for (at, key) in keys.iter().enumerate().chain(keys.iter().enumerate().rev()) {
            let expected = (at % 2 == 0).then_some(key);
            assert_eq!(tree.db.get(key).expect("get").as_ref(), expected, "{} bytes", key.len());
        }
        for (at, value) in tree.db.multi_get(&keys).into_iter().enumerate() {
            let expected = (at % 2 == 0).then_some(&keys[at]);
            assert_eq!(value.expect("get").as_ref(), expected, "{} bytes, in a batch", keys[at].len());
        }
    }
}

#[test]
fn keys_that_differ_in_one_byte_are_told_apart() {
    let tree = Tree::new();
    for bytes in (1..=26).chain([63, 64, 65, 66, 100]) {
        let absent = vec![b'k'; bytes];
        let present: Vec<_> = (0..bytes)
            .map(|at| {
                let mut key = absent.clone();
                key[at] ^= 1 << (at % 8);
                key
            })
            .collect();
        for key in &present {
            tree.db.put(key, key).expect("put");
        }
        tree.db.flush().expect("flush");
        assert!(tree.elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        // The digest of the absent key would hide the other.
        for key in &present {
            for (asked, expected) in [(&absent, None), (key, Some(key))] {
                assert_eq!(tree.db.get(asked).expect("get").as_ref(), expected, "{bytes} bytes");
            }
            for (asked, expected) in [(&absent, None), (key, Some(key))] {
                let got = tree.db.multi_get([asked]).remove(0).expect("multi_get");
                assert_eq!(got.as_ref(), expected, "{bytes} bytes, in a batch");
            }
        }
    }
}

#[test]
fn a_batch_computes_one_digest_a_key() {
    let tree = Tree::new();
    let lookups = u64::from(NUMBERS);
    for (batch, more) in [(2, 0), (32, 0), (100, 0), (32, 100), (32, 400)] {
        let keys: Vec<_> = (0..NUMBERS).map(|number| long_absent(number, more)).collect();
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

/// What a database remembers tells wasted reads per lookup of its own, whatever else the process has open.
#[test]
fn each_database_counts_its_own_lookups() {
    let (shared, other) = (ample(), ample());
    let stores = [(&shared, 1), (&shared, 3), (&other, 2)].map(|(elastic, runs)| {
        let folder = folder();
        let mut options = small_tree();
        options.set_disable_auto_compactions(true);
        let db = DB::open(&installed(elastic, &options), folder.path()).expect("open");
        for run in 0..runs {
            fill_db(&db, &format!("run {run}"));
            db.flush().expect("flush");
        }
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        // A memtable may also be full before it is flushed.
        let tables = db.property_int_value("rocksdb.num-files-at-level0").expect("known").expect("told");
        assert!(tables >= runs);
        (db, folder, tables as f64)
    });
    for number in 0..NUMBERS {
        for (more, (db, ..)) in stores.iter().enumerate() {
            assert_eq!(db.get(long_absent(number, more)).expect("get"), None);
        }
    }
    let is_near =
        |told: Option<f64>, expected: f64| told.is_some_and(|told| (told / expected - 1.0).abs() < 0.2);
    let told = [&shared, &other].map(ElasticFilters::visits_per_lookup);
    let [first, second, third] = [0, 1, 2].map(|at: usize| stores[at].2);
    assert!(is_near(told[0], (first + second) / 2.0) && is_near(told[1], third), "{told:?}");
    for (db, folder, tables) in stores {
        drop(db);
        let usage =
            Usage::of_folder(folder.path()).expect("sound").expect("written when the database closed");
        assert!(
            is_near(usage.visits_per_lookup(), tables),
            "{:?} for {tables} tables",
            usage.visits_per_lookup()
        );
    }
}
