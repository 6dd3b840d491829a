//! Seeks of prefixes: what they find is what stock RocksDB finds, and absent prefixes cost no reads.

use std::collections::BTreeMap;
use std::path::Path;

use rand::RngExt;
use rocksdb::{
    BlockBasedOptions, DB, IteratorMode, Options, ReadOptions, SliceTransform,
    perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats},
};
use springbloom_rocksdb::{ElasticFilters, UnitSettings};
use springbloom_testkit::seed::{TestRng, rng};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, ample, build, folder, installed, log_of, small_segments, small_tree,
};

const RUNS: u64 = 5;
const PREFIX_BYTES: usize = 4;
const PREFIXES_PER_RUN: u32 = 400;

/// Options of a database whose tables stay where flushes put them, and whose blocks no cache keeps.
fn runs(whole_keys: bool) -> Options {
    let mut options = small_tree();
    options.set_write_buffer_size(64 << 20);
    options.set_disable_auto_compactions(true);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(PREFIX_BYTES));
    let mut tables = BlockBasedOptions::default();
    tables.disable_cache();
    tables.set_whole_key_filtering(whole_keys);
    tables.set_bloom_filter(10.0, false);
    options.set_block_based_table_factory(&tables);
    options
}

/// Even prefixes are in exactly one run each, odd ones in none.
fn fill(db: &DB) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut model = BTreeMap::new();
    for run in 0..RUNS as u32 {
        for prefix in 0..PREFIXES_PER_RUN {
            let prefix = 2 * (prefix * RUNS as u32 + run);
            for suffix in 0..5u8 {
                let key = [&prefix.to_be_bytes()[..], &[2 * suffix]].concat();
                db.put(&key, [7; 100]).expect("put");
                model.insert(key, vec![7; 100]);
            }
        }
        db.flush().expect("flush");
    }
    model
}

/// Opens a database with `runs(true)` that has all keys, and waits for its units.
fn filled(elastic: &ElasticFilters, folder: &Path) -> DB {
    let db = DB::open(&installed(elastic, &runs(true)), folder).expect("open");
    fill(&db);
    assert!(elastic.wait_idle(IDLE_TIMEOUT));
    db
}

/// Keys from the target on.
fn keys_from(db: &DB, target: &[u8], read: ReadOptions) -> Vec<Vec<u8>> {
    let found = db.iterator_opt(IteratorMode::From(target, rocksdb::Direction::Forward), read);
    found.map(|entry| entry.expect("the iterator is sound").0.to_vec()).collect()
}

/// Those with the target's prefix.
fn seek(db: &DB, target: &[u8]) -> Vec<Vec<u8>> {
    let mut read = ReadOptions::default();
    read.set_prefix_same_as_start(true);
    keys_from(db, target, read)
}

fn expected(model: &BTreeMap<Vec<u8>, Vec<u8>>, target: &[u8]) -> Vec<Vec<u8>> {
    let prefix = &target[..PREFIX_BYTES];
    let from = model.range(target.to_vec()..).map(|(key, _)| key.clone());
    from.take_while(|key| key.starts_with(prefix)).collect()
}

/// Blocks read per call of `seek`.
fn reads_per_seek(mut seek: impl FnMut()) -> f64 {
    const SEEKS: u32 = 2000;
    set_perf_stats(PerfStatsLevel::EnableCount);
    let mut context = PerfContext::default();
    context.reset();
    (0..SEEKS).for_each(|_| seek());
    let reads = context.metric(PerfMetric::BlockReadCount);
    set_perf_stats(PerfStatsLevel::Disable);
    reads as f64 / f64::from(SEEKS)
}

/// The same for absent prefixes.
fn reads_per_absent_seek(db: &DB, rng: &mut TestRng) -> f64 {
    reads_per_seek(|| {
        let prefix = 2 * rng.random_range(0..PREFIXES_PER_RUN * RUNS as u32 - 1) + 1;
        assert!(seek(db, &prefix.to_be_bytes()).is_empty());
    })
}

fn check_answers(db: &DB, model: &BTreeMap<Vec<u8>, Vec<u8>>, rng: &mut TestRng) {
    for _ in 0..2000 {
        let prefix = rng.random_range(0..2 * PREFIXES_PER_RUN * RUNS as u32 + 2);
        let target =
            [&prefix.to_be_bytes()[..], &[rng.random_range(0..12)][..rng.random_range(0..2)]].concat();
        assert_eq!(seek(db, &target), expected(model, &target), "{target:?}");
        let value = db.get(&target).expect("get");
        assert_eq!(value.as_ref(), model.get(&target), "{target:?}");
    }
}

#[test]
fn absent_prefixes_are_not_read_and_present_ones_are_found() {
    let mut rng = rng("absent_prefixes_are_not_read_and_present_ones_are_found");
    for whole_keys in [true, false] {
        let elastic = ample();
        let options = installed(&elastic, &runs(whole_keys));
        let folder = folder();
        let db = DB::open(&options, folder.path()).expect("open");
        let model = fill(&db);
        check_answers(&db, &model, &mut rng);
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
        check_answers(&db, &model, &mut rng);
        let reads = reads_per_absent_seek(&db, &mut rng);
        assert!(reads < 0.1, "{reads} reads per seek, whole keys: {whole_keys}");
        drop(db);

        // A budget of nothing reads every run, and is no error.
        elastic.set_budget_bytes(0).expect("the budget can be set");
        let db = DB::open(&options, folder.path()).expect("open");
        check_answers(&db, &model, &mut rng);
        assert!(reads_per_absent_seek(&db, &mut rng) > 3.0);
        // With one again, the tables that are open get their units.
        elastic.set_budget_bytes(AMPLE_BYTES).expect("the budget can be set");
        crate::common::wait_until("units over prefixes come", || {
            elastic.wait_idle(IDLE_TIMEOUT) && reads_per_absent_seek(&db, &mut rng) < 0.1
        });
        check_answers(&db, &model, &mut rng);
    }
}

/// A seek with `async_io` is made twice: while a block is read, and when it is there. One in total order asks for its prefix where it may
/// not leave it, from RocksDB 9 on.
#[test]
fn the_policy_learns_from_seeks_that_do_not_wait_and_in_total_order() {
    const SEEKS: u64 = 500;
    let mut rng = rng("the_policy_learns_from_seeks_that_do_not_wait_and_in_total_order");
    let elastic = build(ElasticFilters::builder().budget_bytes(AMPLE_BYTES));
    let folder = folder();
    let db = filled(&elastic, folder.path());
    for in_total_order in [false, true] {
        let mut seek = |is_present: bool| {
            let prefix = 2 * rng.random_range(0..PREFIXES_PER_RUN * RUNS as u32) + u32::from(!is_present);
            let mut read = ReadOptions::default();
            read.set_prefix_same_as_start(true);
            read.set_async_io(!in_total_order);
            read.set_total_order_seek(in_total_order);
            let target = prefix.to_be_bytes();
            let mut found = db.iterator_opt(IteratorMode::From(&target, rocksdb::Direction::Forward), read);
            let found = found.next().map(|entry| entry.expect("the iterator is sound").0);
            assert_eq!(found.is_some_and(|key| key.starts_with(&target)), is_present);
        };
        let before = elastic.stats().outcomes;
        (0..SEEKS).for_each(|_| seek(false));
        let asks = elastic.stats().outcomes.rejected > before.rejected;
        assert!(asks || in_total_order);
        (0..SEEKS).for_each(|_| seek(true));
        let found = elastic.stats().outcomes.true_positives - before.true_positives;
        assert_eq!(found, if asks { SEEKS } else { 0 }, "each prefix is in one run");
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
        let families = elastic.families();
        let of_prefixes = families.iter().find(|stats| stats.family == "default (prefixes)");
        assert!(of_prefixes.is_some_and(|stats| stats.counts.visits() > 1000), "{families:?}");
    }
}

/// Of random databases, whose tables were written with a filter policy or without one, and are read with one or without.
#[test]
fn iterators_find_what_they_find_without_springbloom() {
    let mut rng = rng("iterators_find_what_they_find_without_springbloom");
    let mut rejected = 0;
    for round in 0..24 {
        let [is_written, is_read] = [round & 1, round & 2].map(|bit| bit > 0);
        let (letters, whole_keys) = (rng.random_range(5..10u8), rng.random());
        let random_key = |rng: &mut TestRng, least: usize| -> Vec<u8> {
            (0..rng.random_range(least..8)).map(|_| b'a' + rng.random_range(0..letters)).collect()
        };
        // Not drawn: among few tables with a policy, each length of a prefix is read with one.
        let (prefix_bytes, is_fixed) = (1 + round / 4 % 4, round < 16);
        let with = |has_policy: bool| {
            let mut options = small_tree();
            options.set_prefix_extractor(if is_fixed {
                SliceTransform::create_fixed_prefix(prefix_bytes)
            } else {
                let in_domain = |key: &[u8]| key.len() > 3;
                SliceTransform::create("first letters", |key| &key[..3], Some(in_domain))
            });
            let mut tables = BlockBasedOptions::default();
            tables.set_whole_key_filtering(whole_keys);
            tables.set_block_size(256);
            if has_policy {
                tables.set_bloom_filter(10.0, false);
            }
            options.set_block_based_table_factory(&tables);
            options
        };
        let (elastic, folder) = (ample(), folder());
        let db = DB::open(&installed(&elastic, &with(is_written)), folder.path()).expect("open");
        for _ in 0..rng.random_range(1..6) {
            for _ in 0..400 {
                db.put(random_key(&mut rng, 4), [7; 50]).expect("put");
            }
            db.flush().expect("flush");
        }
        drop(db);
        let open = |options| DB::open_for_read_only(&options, folder.path(), false).expect("open");
        let (stock, ours) = (open(with(is_read)), open(installed(&elastic, &with(is_read))));
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
        let seeks_rejected = || {
            let families = elastic.families();
            let mut of_prefixes = families.iter().filter(|stats| stats.family.ends_with("(prefixes)"));
            of_prefixes.next().map_or(0, |stats| stats.counts.rejected)
        };
        let before = seeks_rejected();
        for _ in 0..1000 {
            let target = random_key(&mut rng, 1);
            let direction =
                if rng.random() { rocksdb::Direction::Forward } else { rocksdb::Direction::Reverse };
            let in_total_order = rng.random_bool(0.2);
            let found = [&stock, &ours].map(|db| {
                let mut read = ReadOptions::default();
                read.set_total_order_seek(in_total_order);
                let found = db.iterator_opt(IteratorMode::From(&target, direction), read);
                let keys = found.map(|entry| entry.expect("the iterator is sound").0);
                let is_promised = |key: &[u8]| {
                    let bytes = if is_fixed { prefix_bytes } else { 3 };
                    !is_read || in_total_order || (target.len() > 3 && key[..bytes] == target[..bytes])
                };
                keys.take(100).take_while(|key| is_promised(key)).collect::<Vec<_>>()
            });
            assert_eq!(found[0], found[1], "{target:?}, round {round}");
            let values = [&stock, &ours].map(|db| db.get(&target).expect("get"));
            assert_eq!(values[0], values[1], "{target:?}, round {round}");
        }
        let rejected_now = seeks_rejected() - before;
        assert!(is_read || rejected_now == 0, "{rejected_now} seeks rejected, round {round}");
        rejected += rejected_now;
    }
    assert!(rejected > 100, "{rejected} seeks rejected: the test shows nothing");
}

/// Each unit halves what absent prefixes waste: the targets are those of stock Bloom filters of this many bits.
#[test]
fn absent_prefixes_cost_what_the_units_let_pass() {
    let mut rng = rng("absent_prefixes_cost_what_the_units_let_pass");
    for units in [1, 4, 6] {
        let units_of_each = UnitSettings::ribbon(units).expect("this many units can be");
        let elastic = build(small_segments(AMPLE_BYTES).units(units_of_each));
        let folder = folder();
        let db = filled(&elastic, folder.path());
        let reads = reads_per_absent_seek(&db, &mut rng);
        let expected = RUNS as f64 * 0.5f64.powi(units.into());
        eprintln!("{units} units: {reads} reads a seek");
        // The prefixes are few: the same ones pass again.
        assert!(
            (reads - expected).abs() < 0.35 * expected,
            "{units} units: {reads} reads a seek, expected {expected}"
        );
    }
}

/// Nothing is opened, closed and told of for a table that has no such units, however often the table cache opens it.
#[test]
fn a_table_without_units_for_these_options_opens_no_column_family() {
    let (folder, elastic) = (folder(), ample());
    drop(fill(&DB::open(&installed(&elastic, &runs(false)), folder.path()).expect("open")));
    let mut options = runs(true);
    options.set_block_based_table_factory(&BlockBasedOptions::default());
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    db.get(b"absent").expect("get");
    drop(db);
    assert!(!log_of(folder.path()).contains("filter units are in use"));
}
