//! What is resident: kept over reopening, forgotten with its file, bounded by the budget.

use rocksdb::{BlockBasedOptions, DB, WaitForCompactOptions, statistics::Ticker};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, ample, build,
    contents::{check_db, check_db_filtered, fill_db, rejections},
    folder, installed, log_of, metric, small_segments, small_tree, stock, tables, wait_until,
};

#[test]
fn readers_that_come_and_go_with_the_table_cache_find_their_units_again() {
    let (folder, elastic) = (folder(), ample());
    let mut options = small_tree();
    // RocksDB keeps half of it for other files: ten tables are open at a time.
    options.set_max_open_files(20);
    options.set_target_file_size_base(2 << 10);
    let mut table = BlockBasedOptions::default();
    table.set_block_size(512);
    options.set_block_based_table_factory(&table);
    options.set_max_file_opening_threads(1);
    options.enable_statistics();
    let options = installed(&elastic, &options);
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "kept");
    stock::rewrite(&db);
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
    let loads = || {
        check_db(&db, "kept");
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        elastic.stats().loads
    };
    wait_until("every unit of every table is resident", || loads() == loads());
    let before = (elastic.stats(), options.get_ticker_count(Ticker::NoFileOpens));
    check_db_filtered(&elastic, &db, "kept");
    let after = (elastic.stats(), options.get_ticker_count(Ticker::NoFileOpens));
    assert!(after.0.tables > 20 && after.0.closed_tables > 0, "{:?}", after.0);
    assert!(
        after.1 > before.1 + 20,
        "the table cache was not too small: {} files were opened",
        after.1 - before.1
    );
    assert_eq!(after.0.loads, before.0.loads, "units were read again after reopening");
}

#[test]
fn deleted_tables_are_forgotten_even_when_their_readers_were_closed() {
    for max_open_files in [-1, 20] {
        let (folder, elastic) = (folder(), ample());
        let mut options = small_tree();
        options.set_max_open_files(max_open_files);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        for round in 0..4 {
            fill_db(&db, &format!("round {round}"));
            check_db(&db, &format!("round {round}"));
        }
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
        // Closed tables are looked after when others open.
        let live = || db.live_files().expect("live_files").len();
        wait_until("no more tables are known than there are files", || {
            check_db(&db, "round 3");
            elastic.stats().tables <= live()
        });
    }
}

#[test]
fn a_budget_of_zero_works_and_says_so() {
    let (folder, elastic) = (folder(), build(small_segments(0)));
    let options = installed(&elastic, &small_tree());
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "zero");
    assert_eq!(rejections(&elastic, || check_db(&db, "zero")), 0);
    assert_eq!(elastic.stats().used_bytes, 0);
    let log = log_of(folder.path());
    assert!(
        log.contains("springbloom.budget: 0") && log.contains("no room for its bookkeeping"),
        "the log says so"
    );
    // Nothing is lost on disk: the units are there when a budget comes.
    assert!(tables::with_and_without_units(folder.path()).0 > 0);
    drop(db);
    elastic.set_budget_bytes(AMPLE_BYTES).unwrap();
    let db = DB::open(&options, folder.path()).expect("open");
    check_db_filtered(&elastic, &db, "zero");
}

#[test]
fn tables_that_were_refused_get_their_units_when_the_budget_grows() {
    let (folder, elastic) = (folder(), build(small_segments(0)));
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "refused");
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
    let live = db.live_files().expect("live_files").len();
    // Looked up all the while, so that readers change under lookups.
    std::thread::scope(|scope| {
        let lookups: Vec<_> = (0..2).map(|_| scope.spawn(|| check_db(&db, "refused"))).collect();
        elastic.set_budget_bytes(AMPLE_BYTES).unwrap();
        wait_until("every open table is known", || {
            check_db(&db, "refused");
            elastic.stats().tables == live
        });
        lookups.into_iter().for_each(|thread| thread.join().expect("no lookup fails"));
    });
    check_db_filtered(&elastic, &db, "refused");
    let keys: Vec<_> = (0..300).map(crate::common::contents::key).collect();
    let rejected = rejections(&elastic, || {
        let found = db.multi_get(&keys).into_iter().filter(|got| got.as_ref().is_ok_and(Option::is_some));
        assert_eq!(found.count(), 150);
    });
    assert!(rejected > 100, "{rejected}");
    fill_db(&db, "then");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    check_db_filtered(&elastic, &db, "then");
}

#[test]
fn tables_that_were_refused_get_their_units_when_others_go() {
    let folders = [folder(), folder()];
    let elastic = ample();
    let mut options = small_tree();
    // Many tables, so that the bookkeeping that there is in any case counts little.
    options.set_target_file_size_base(4 << 10);
    let options = installed(&elastic, &options);
    let mut databases: Vec<_> = folders
        .iter()
        .map(|folder| {
            let db = DB::open(&options, folder.path()).expect("open");
            fill_db(&db, "one of two");
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            db
        })
        .collect();
    let tables_of = |db: &DB| db.live_files().expect("live_files").len();
    wait_until("only live tables are known", || {
        elastic.stats().tables == databases.iter().map(tables_of).sum::<usize>()
    });
    // Room for more than the tables of one database and a few units of each, and for less than those of both.
    let budget_bytes = elastic.stats().used.bookkeeping * 7 / 8;
    databases.clear();
    elastic.set_budget_bytes(budget_bytes as u64).unwrap();
    for folder in &folders {
        databases.push(DB::open(&options, folder.path()).expect("open"));
    }
    let both: usize = databases.iter().map(tables_of).sum();
    let known = elastic.stats().tables;
    assert!(known < both, "{known} of {both} tables fit the budget");
    drop(databases.remove(0));
    wait_until("every table of the database that is left is known", || {
        elastic.stats().tables == tables_of(&databases[0])
    });
    check_db(&databases[0], "one of two");
}

#[test]
fn a_budget_below_the_bookkeeping_works_and_says_so() {
    let (folder, elastic) = (folder(), build(small_segments(200)));
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    fill_db(&db, "small");
    check_db(&db, "small");
    let stats = elastic.stats();
    assert!(stats.used_bytes <= 200 && stats.peak_bytes <= 200, "{stats:?}");
    assert!(stats.refused_tables > 0, "{stats:?}");
    assert!(log_of(folder.path()).contains("no room for its bookkeeping"), "the log says so");
    let without_room = || metric(&elastic.metrics_text(), "springbloom_tables_without_room");
    // Compactions go on, and a table that one replaced is closed a moment later.
    let tables = || db.live_files().expect("live_files").len() as u64;
    wait_until("each open table is counted", || without_room() == tables());
    elastic.set_budget_bytes(4 << 20).expect("a budget");
    wait_until("each has room", || without_room() == 0);
    elastic.set_budget_bytes(200).expect("a budget");
    drop(db);
    let db = DB::open(&installed(&elastic, &small_tree()), folder.path()).expect("open");
    wait_until("those that are opened again are counted", || without_room() > 0);
    drop(db);
    assert_eq!(without_room(), 0, "none is open");
}

#[test]
fn a_smaller_budget_holds_when_the_call_returns() {
    let (folder, elastic) = (folder(), ample());
    let mut options = small_tree();
    options.set_disable_auto_compactions(true);
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    fill_db(&db, "shrinking");
    check_db_filtered(&elastic, &db, "shrinking");
    let bookkeeping_bytes = {
        let used = elastic.stats().used;
        (used.bookkeeping + used.buffers) as u64
    };
    for divisor in [2, 4, 8, 64] {
        let budget_bytes = elastic.stats().used_bytes as u64 / divisor;
        elastic.set_budget_bytes(budget_bytes).unwrap();
        let stats = elastic.stats();
        assert!(stats.used_bytes <= stats.budget_bytes, "{stats:?}");
        assert!(
            stats.budget_bytes as u64 <= budget_bytes.max(bookkeeping_bytes),
            "asked for {budget_bytes}, with {bookkeeping_bytes} of bookkeeping: {stats:?}"
        );
        check_db(&db, "shrinking");
    }
    elastic.set_budget_bytes(AMPLE_BYTES).unwrap();
    check_db_filtered(&elastic, &db, "shrinking");
}
