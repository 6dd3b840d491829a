//! Reads of one store hang: its other column families go on, and other stores get their units. How many reads a table's first use takes.
//! What else hangs: `tests/alone/simulation`.

use std::{path::Path, sync::mpsc::channel, time::Duration};

use rocksdb::{BlockBasedIndexType, BlockBasedOptions, Cache, DB, Options};
use springbloom_rocksdb::ElasticFilters;

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, ONE_AT_A_TIME, build,
    contents::{NUMBERS, check_db, fill, fill_db, key},
    faults::{Act, Broken, By, Call, hanging_threads, take_reads, with_simulated_files},
    folder, installed, small_segments, small_tree, wait_until,
};

fn reads_of_filters_hang() -> Broken {
    Broken::begin(Call::Read, Act::Hangs, By::Filters, "")
}

/// The families' tables wait for their directories when the reads begin to hang.
#[test]
fn column_families_of_one_store_that_hangs_leave_threads_to_others() {
    let _one = ONE_AT_A_TIME.lock();
    let folder = folder();
    let elastic = build(small_segments(0).warm_start_every(None));
    let mut options = small_tree();
    with_simulated_files(&mut options);
    let options = installed(&elastic, &options);
    let mut hanging = DB::open(&options, folder.path().join("hanging")).expect("open");
    for family in 0..16 {
        let name = family.to_string();
        hanging.create_cf(&name, &options).expect("a column family");
        let family = hanging.cf_handle(&name).expect("it was made");
        for table in 0..4 {
            let keys = (0..100).map(|n| key(4 * n + table));
            keys.for_each(|key| hanging.put_cf(family, key, "value").expect("put"));
            hanging.flush_cf(family).expect("flush");
        }
    }
    let healthy = DB::open(&installed(&elastic, &small_tree()), folder.path().join("healthy")).expect("open");
    fill_db(&healthy, "healthy");
    let hangs = reads_of_filters_hang();
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    wait_until("no more reads begin", || {
        let before = hanging_threads();
        std::thread::sleep(Duration::from_secs(2));
        before > 0 && hanging_threads() == before
    });
    // Its tables wait from now on.
    elastic.set_budget_bytes(0).expect("a budget");
    drop(healthy);
    let healthy = DB::open(&installed(&elastic, &small_tree()), folder.path().join("healthy")).expect("open");
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    wait_until("another store's tables have units", || {
        let before = elastic.stats().outcomes.rejected;
        check_db(&healthy, "healthy");
        elastic.stats().outcomes.rejected - before >= u64::from(NUMBERS) / 3
    });
    assert!(hanging_threads() > 0);
    drop(hangs);
}

/// The bytes of an index are reserved as its read begins.
#[test]
fn lookups_go_on_while_the_read_of_an_index_hangs_and_a_closing_waits_for_it() {
    let _one = ONE_AT_A_TIME.lock();
    let folder = folder();
    let elastic = build(ElasticFilters::builder().budget_auto().warm_start_every(None));
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(4 * AMPLE_BYTES as usize));
    table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    let mut options = small_tree();
    options.set_block_based_table_factory(&table);
    with_simulated_files(&mut options);
    let db = DB::open(&installed(&elastic, &options), folder.path().join("hanging")).expect("open");
    fill_db(&db, "hangs");
    elastic.set_budget_bytes(0).expect("a budget");
    wait_until("no index is resident", || elastic.stats().used.indexes == 0);
    let hangs = reads_of_filters_hang();
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    wait_until("indexes are being read", || {
        check_db(&db, "hangs");
        elastic.stats().used.indexes > 0
    });
    check_db(&db, "hangs");
    assert_eq!(elastic.stats().resident_indexes, 0);
    let (closed, is_closed) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            drop(db);
            closed.send(()).expect("the test waits for it");
        });
        assert!(is_closed.recv_timeout(Duration::from_millis(300)).is_err(), "it waits for no read");
        drop(hangs);
        is_closed.recv_timeout(IDLE_TIMEOUT).expect("it is closed");
    });
    wait_until("all is given back", || elastic.stats().used.indexes == 0);
}

/// A thread of RocksDB removes the last table of a database while another table's directory is read.
#[test]
fn a_database_that_loses_all_its_tables_waits_for_no_read() {
    let _one = ONE_AT_A_TIME.lock();
    let folder = folder();
    let elastic = build(small_segments(0).warm_start_every(None));
    let mut options = small_tree();
    with_simulated_files(&mut options);
    let options = installed(&elastic, &options);
    let mut db = DB::open(&options, folder.path()).expect("open");
    let keys = || (0..200).map(key);
    for name in ["one", "two"] {
        db.create_cf(name, &options).expect("a column family");
        let family = db.cf_handle(name).expect("it was made");
        keys().for_each(|key| db.put_cf(family, key, "value").expect("put"));
        db.flush_cf(family).expect("flush");
    }
    let hangs = reads_of_filters_hang();
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    wait_until("directories are being read", || hanging_threads() > 0);
    let (emptied, is_empty) = channel();
    let db = &db;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for name in ["one", "two"] {
                let family = db.cf_handle(name).expect("it is there");
                keys().for_each(|key| db.delete_cf(family, key).expect("delete"));
                db.flush_cf(family).expect("flush");
                db.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
            }
            // A further flush waits for a thread that RocksDB flushes with.
            let family = db.cf_handle("one").expect("it is there");
            db.put_cf(family, "key", "value").expect("put");
            db.flush_cf(family).expect("flush");
            emptied.send(()).expect("the test waits for it");
        });
        let is_empty = is_empty.recv_timeout(IDLE_TIMEOUT);
        let hang = hanging_threads();
        drop(hangs);
        assert!(is_empty.is_ok(), "a compaction waits for a read of another column family");
        assert!(hang > 0);
    });
}

/// Reads of RocksDB's threads for each table: those that open all tables, and those of the first lookup in each of them.
fn reads_of_first_uses(options: &Options, path: &Path) -> [f64; 2] {
    take_reads();
    let db = DB::open(options, path).expect("open");
    let [opening, _] = take_reads();
    let tables = db.live_files().expect("live_files");
    assert!(tables.len() > 20, "{} tables say little", tables.len());
    for table in &tables {
        let key = table.start_key.as_ref().expect("a key");
        assert!(db.get(key).expect("get").is_some());
    }
    let [lookups, _] = take_reads();
    [opening, lookups].map(|reads| f64::from(reads) / tables.len() as f64)
}

/// Stock RocksDB reads its filter where ours reads a directory: as it opens a table, or in the first lookup.
#[test]
fn a_table_is_opened_and_first_used_with_as_many_reads_as_with_stock_filters() {
    let _one = ONE_AT_A_TIME.lock();
    let cases = [(16 << 10, false), (1 << 20, false), (16 << 10, true), (1 << 20, true)];
    for (segment_size, are_cached) in cases {
        let elastic = build(small_segments(AMPLE_BYTES).segment_size(segment_size).warm_start_every(None));
        let [by_stock, by_ours] = [None, Some(&elastic)].map(|elastic| {
            // With a block cache of its own.
            let options = || {
                let mut options = small_tree();
                options.set_disable_auto_compactions(true);
                with_simulated_files(&mut options);
                let mut table = BlockBasedOptions::default();
                table.set_cache_index_and_filter_blocks(are_cached);
                if elastic.is_none() {
                    table.set_bloom_filter(10.0, false);
                }
                options.set_block_based_table_factory(&table);
                elastic.map_or_else(|| options.clone(), |elastic| installed(elastic, &options))
            };
            let folder = folder();
            let db = DB::open(&options(), folder.path()).expect("open");
            fill(10 * NUMBERS, |key, value| db.put(key, value).expect("put"), "read");
            db.flush().expect("flush");
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            drop(db);
            reads_of_first_uses(&options(), folder.path())
        });
        println!(
            "index and filters cached: {are_cached}; reads a table: stock {by_stock:.2?}, ours {by_ours:.2?}"
        );
        let sum = |reads: [f64; 2]| reads.iter().sum::<f64>();
        assert!(sum(by_ours) <= sum(by_stock) + 0.02, "{by_ours:?} {by_stock:?}");
        assert!(are_cached || by_ours[0] <= by_stock[0], "{by_ours:?} {by_stock:?}");
    }
}
