//! Runs operations under one option set, then hands the database to stock RocksDB and back.

use std::path::Path;

use rand::RngExt;
use rocksdb::{ColumnFamilyDescriptor, DB, Options};
use springbloom_rocksdb::ElasticFilters;
use springbloom_testkit::seed::{TestRng, rng_from};

use crate::{
    common::{self, IDLE_TIMEOUT, stock, tables},
    operations::{COLUMN_FAMILIES, Operations, Session},
    sets::{Budget, OptionSet},
};

/// Operations of all option sets together, unless `SPRINGBLOOM_ORACLE_OPS` says otherwise.
const OPERATIONS_TOTAL: u64 = 1_000_000;
/// With fewer operations, lookups may not reach a table often enough for its index to become resident.
const INDEX_OPERATIONS: u64 = 3_000;
/// How often the database is closed and opened again while the operations run.
const REOPENINGS: u64 = 4;
/// Operations between two changes of a wandering budget.
const BUDGET_CHANGE_OPERATIONS: u64 = 400;

/// Operations of one option set out of `sets`.
pub(crate) fn operations_per_set(sets: u64) -> u64 {
    common::number("SPRINGBLOOM_ORACLE_OPS", OPERATIONS_TOTAL).div_ceil(sets)
}

/// What a run saw.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    /// A digest of all answers.
    pub(crate) answers: u64,
    /// Answers compared with the oracle's.
    pub(crate) checks: u64,
    /// Keys of lookups that units rejected.
    pub(crate) rejected: u64,
}

/// Runs `count` operations drawn from `seed`.
///
/// # Panics
/// When an answer differs from the oracle's, here or under stock RocksDB.
pub(crate) fn run(set: OptionSet, seed: u64, count: u64) -> Seen {
    let folder = common::folder();
    let path = folder.path();
    let elastic = elastic(&set);
    let mut stock_options = set.db.clone();
    stock_options.set_block_based_table_factory(&set.table);
    let mut elastic_options = stock_options.clone();
    elastic.install(&mut elastic_options).expect("install");
    if set.index_with_first_keys {
        common::unsafe_calls::set_index_with_first_keys(&mut elastic_options);
    }

    let mut operations = Operations::new(rng_from(seed), set.prefixes);
    let mut host_rng = rng_from(!seed);
    let mut has_indexes = false;
    for opening in 0..=REOPENINGS {
        let db = open(&elastic_options, path);
        let mut session = Session::new(&db);
        for step in 0..count.div_ceil(REOPENINGS + 1) {
            if step % BUDGET_CHANGE_OPERATIONS == 0 {
                wander(&set, &elastic, &mut host_rng);
            }
            operations.step(&mut session);
            operations.look_up(&session, set.lookups_per_operation);
        }
        drop(session);
        has_indexes |= elastic.stats().resident_indexes > 0;
        if opening == REOPENINGS {
            for name in COLUMN_FAMILIES {
                db.flush_cf(db.cf_handle(name).expect("the column family is open")).expect("flush");
            }
        }
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest: {:?}", elastic.stats());
        operations.compare_all(&db);
        stock::verify_checksums(&db).expect("checksums under the elastic factory");
    }
    let stats = elastic.stats();
    assert!(stats.peak_bytes <= peak_allowed(&set), "{} bytes were resident at a time", stats.peak_bytes);
    assert_eq!(stats.corrupt_units, 0, "sound tables were called corrupt");
    assert_eq!(stats.failed_reads, 0, "units of live tables could not be read");
    if set.must_reject {
        assert!(stats.outcomes.rejected > 0, "no lookup was rejected: {stats:?}");
        assert!(tables::with_and_without_units(path).0 > 0, "no table has filter units");
    }

    let must_have_indexes = set.must_have_indexes && count >= INDEX_OPERATIONS;
    assert!(has_indexes || !must_have_indexes, "no index was resident: {stats:?}");

    // Or one could move a table past the levels that are being written again.
    let mut rewriting_options = stock_options.clone();
    rewriting_options.set_disable_auto_compactions(true);
    through_stock(&rewriting_options, path, &mut operations);
    assert_eq!(tables::with_and_without_units(path).0, 0, "stock RocksDB wrote filter units");
    back_to_elastic(&elastic_options, &elastic, path, &mut operations);
    Seen { answers: operations.answers(), checks: operations.checks, rejected: stats.outcomes.rejected }
}

fn elastic(set: &OptionSet) -> ElasticFilters {
    let budget_bytes = match set.budget {
        Budget::Fixed(bytes) => bytes,
        Budget::Wandering => 1 << 20,
    };
    let builder = ElasticFilters::builder();
    // `auto` pays for indexes.
    let builder =
        if set.charge_to_block_cache { builder.budget_auto() } else { builder.budget_bytes(budget_bytes) };
    let elastic = builder
        .segment_size(set.segment_size)
        .units(set.units)
        .inherit_hotness(set.inherit_hotness)
        .build_with(set.policy.policy(None))
        .expect("the settings are sound");
    elastic.set_budget_bytes(budget_bytes).expect("a budget");
    elastic
}

fn wander(set: &OptionSet, elastic: &ElasticFilters, rng: &mut TestRng) {
    if matches!(set.budget, Budget::Wandering) {
        let budget_bytes = match rng.random_range(0..4) {
            0 => 0,
            1 => rng.random_range(0..20 << 10),
            2 => rng.random_range(0..200 << 10),
            _ => rng.random_range(0..4 << 20),
        };
        elastic.set_budget_bytes(budget_bytes).unwrap();
    }
}

fn peak_allowed(set: &OptionSet) -> usize {
    match set.budget {
        // Until the budget is set, that of `auto` is in force, which has these buffers of lookups.
        Budget::Fixed(bytes) if set.charge_to_block_cache => (bytes as usize).max(32 << 10),
        Budget::Fixed(bytes) => bytes as usize,
        Budget::Wandering => 4 << 20,
    }
}

fn open(options: &Options, path: &Path) -> DB {
    let families = COLUMN_FAMILIES.map(|name| ColumnFamilyDescriptor::new(name, options.clone()));
    DB::open_cf_descriptors(options, path, families).expect("open")
}

/// Opened, scanned, verified and rewritten by stock RocksDB.
fn through_stock(options: &Options, path: &Path, operations: &mut Operations) {
    let mut names = DB::list_cf(options, path).expect("list_cf");
    names.sort();
    assert_eq!(names, COLUMN_FAMILIES);
    let db = open(options, path);
    stock::verify_checksums(&db).expect("checksums under stock RocksDB");
    operations.compare_all(&db);
    for name in COLUMN_FAMILIES {
        stock::rewrite_family(&db, name);
    }
    operations.compare_all(&db);
}

/// Stock tables under the elastic factory, then new tables next to them.
fn back_to_elastic(options: &Options, elastic: &ElasticFilters, path: &Path, operations: &mut Operations) {
    let db = open(options, path);
    operations.compare_all(&db);
    let mut session = Session::new(&db);
    for _ in 0..400 {
        operations.step(&mut session);
    }
    drop(session);
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest: {:?}", elastic.stats());
    operations.compare_all(&db);
    stock::verify_checksums(&db).expect("checksums under the elastic factory");
}
