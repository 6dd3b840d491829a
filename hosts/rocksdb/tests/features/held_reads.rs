//! A read of units takes long: databases are opened and closed meanwhile, the budget falls, and a column family is dropped.

use std::{
    path::Path,
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use rocksdb::{DB, Options};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, ONE_AT_A_TIME, ample,
    contents::{NUMBERS, check_db, fill_db, key, rejections, value},
    faults::{Act, Broken, By, Call, hanging_threads, with_simulated_files},
    folder, installed, small_tree,
    unsafe_calls::uncache_removed_tables,
    wait_until,
};

/// Time to close some databases that were looked up a moment before.
fn closing(options: &Options, folder: &Path) -> Duration {
    let open = |number: u32| {
        let db = DB::open(options, folder.join(number.to_string())).expect("open");
        db.put(key(0), "value").expect("put");
        db.flush().expect("flush");
        assert_eq!(db.get(key(0)).expect("get").as_deref(), Some(&b"value"[..]));
        db
    };
    let databases: Vec<_> = (0..10).map(open).collect();
    let begun = Instant::now();
    drop(databases);
    begun.elapsed()
}

#[test]
fn a_read_that_hangs_keeps_neither_databases_nor_a_falling_budget_waiting() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), ample());
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    fill_db(&DB::open(&installed(&ample(), &small_tree()), &other).expect("open"), "other");
    let mut options = installed(&elastic, &small_tree());
    with_simulated_files(&mut options);
    let one = DB::open(&options, &one).expect("open");
    let (moved, is_moved) = channel();
    let (opened, is_opened) = channel();
    std::thread::scope(|scope| {
        let held_reads = Broken::begin(Call::Read, Act::Hangs, By::Filters, "");
        fill_db(&one, "one");
        wait_until("a read is held back", || hanging_threads() > 0);
        let stock = closing(&small_tree(), &folder.path().join("stock"));
        let closing = closing(&installed(&elastic, &small_tree()), &folder.path().join("elastic"));
        // One of these times is 2 ms, and a thread may wait for a processor. A close that waited for the read would not end.
        assert!(
            closing < 10 * stock.max(Duration::from_millis(20)),
            "{closing:?} for databases with units, {stock:?} for stock ones"
        );
        scope.spawn(|| moved.send(elastic.set_budget_bytes(0)));
        wait_until("the budget is being lowered", || elastic.stats().budget_bytes < AMPLE_BYTES as usize);

        scope.spawn(|| {
            // Tables just written, and those of another database.
            for number in 0..1_000 {
                one.put(key(NUMBERS + 2 * number), value("one", NUMBERS + 2 * number)).expect("put");
            }
            one.flush().expect("flush");
            check_db(&one, "one");
            let other = DB::open(&options, &other).expect("open");
            check_db(&other, "other");
            opened.send(other)
        });
        let other = is_opened.recv_timeout(IDLE_TIMEOUT).expect("tables are opened and read meanwhile");
        let moved = is_moved.recv_timeout(IDLE_TIMEOUT).expect("the budget is lowered meanwhile");
        assert!(hanging_threads() > 0);
        let reached_bytes = moved.expect("no budget is too small");
        assert!(reached_bytes < AMPLE_BYTES / 4, "{reached_bytes} bytes");

        drop(held_reads);
        wait_until("what the read held is free", || {
            let stats = elastic.stats();
            stats.used.units == 0 && stats.used.loading == 0 && stats.budget_bytes as u64 <= reached_bytes
        });
        elastic.set_budget_bytes(AMPLE_BYTES).expect("a sound budget");
        for (db, tag) in [(&one, "one"), (&other, "other")] {
            wait_until("tables that were opened meanwhile have units", || {
                rejections(&elastic, || check_db(db, tag)) >= u64::from(NUMBERS) / 3
            });
        }
    });
}

/// Its stock reader, which the read keeps, outlives the column family, and must not use that when it clears the block cache. The address
/// sanitizer would tell.
#[test]
fn a_column_family_is_dropped_while_a_table_is_read_that_a_compaction_removed() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), ample());
    let mut options = installed(&elastic, &small_tree());
    with_simulated_files(&mut options);
    uncache_removed_tables(&mut options);
    let mut db = DB::open(&options, folder.path()).expect("open");
    db.create_cf("dropped", &options).expect("a column family");
    let held_reads = Broken::begin(Call::Read, Act::Hangs, By::Filters, "");
    let family = db.cf_handle("dropped").expect("it was made");
    for number in 0..4_000 {
        db.put_cf(family, key(number), value("dropped", number)).expect("put");
    }
    db.flush_cf(family).expect("flush");
    wait_until("a read is held back", || hanging_threads() > 0);
    // Without a table of another one, the database's file access would end with the column family, and wait for the read.
    fill_db(&db, "kept");
    db.compact_range_cf(family, None::<&[u8]>, None::<&[u8]>);
    db.drop_cf("dropped").expect("drop");
    drop(held_reads);
    wait_until("the other column family has units", || {
        rejections(&elastic, || check_db(&db, "kept")) >= u64::from(NUMBERS) / 3
    });
}
