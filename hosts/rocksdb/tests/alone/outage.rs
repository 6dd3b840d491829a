//! Table files that fail for a while: afterwards lookups waste as few reads as if they never had.

use std::{
    fs,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rand::RngExt;
use rocksdb::{DB, Options};
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME};
use springbloom_testkit::seed::rng;

use crate::common::{
    AMPLE_BYTES, ONE_AT_A_TIME, build,
    contents::{NUMBERS, check_db, fill_db, key},
    faults::{Fault, LATE, with_simulated_files},
    folder, installed, lacking_units, log_of, small_segments, small_tree, wait_until,
};

fn filters(budget_bytes: u64) -> ElasticFilters {
    build(small_segments(budget_bytes).warm_start_every(None))
}

/// Every absent key between the present ones, once. During a fault some fail, as in stock RocksDB.
fn look_up_absent(db: &DB) {
    (1..NUMBERS).step_by(2).for_each(|number| drop(db.get_pinned(key(number))));
}

fn wasted_reads(elastic: &ElasticFilters, db: &DB) -> u64 {
    let before = elastic.stats().outcomes.wasted_reads;
    look_up_absent(db);
    elastic.stats().outcomes.wasted_reads - before
}

/// Waits until all is as without a fault: all units are resident, and let hardly an absent key pass. Keys that are known to be absent waste
/// nothing, so that lookups alone would not tell. Gives how long it took.
fn wait_for_all_filters(elastic: &ElasticFilters, db: &DB, after: &str) -> Duration {
    let begun = Instant::now();
    loop {
        let (wasted, stats) = (wasted_reads(elastic, db), elastic.stats());
        if wasted <= 2 && stats.failing_tables == 0 && lacking_units(&stats) == 0 {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{after}: {wasted} wasted reads, {stats:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Ends the fault also when a test fails, so that the database can close.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        Fault::None.set();
    }
}

/// `SPRINGBLOOM_OUTAGES` asks for more of them, and for longer ones: up to half a minute, most of them short.
#[test]
fn a_fault_that_passes_leaves_no_trace() {
    let _one = ONE_AT_A_TIME.lock();
    let (outages, longest_ms) = match std::env::var("SPRINGBLOOM_OUTAGES") {
        Ok(outages) => (outages.parse().expect("a number"), 30_000.0),
        Err(_) => (20, 400.0),
    };
    let (shortest_ms, mut longest_recovery): (f64, _) = (1e2, Duration::ZERO);
    let mut random = rng("a_fault_that_passes_leaves_no_trace");
    // All tables are open, or nearly all are closed.
    for open_files in [-1, 14] {
        let folder = folder();
        let elastic = filters(AMPLE_BYTES);
        let mut options = small_tree();
        options.set_max_open_files(open_files);
        with_simulated_files(&mut options);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        let _ends = Ends;
        fill_db(&db, "outage");
        wait_for_all_filters(&elastic, &db, "no fault yet");
        for outage in 0..outages / 2 {
            let fault = Fault::ALL[random.random_range(0..Fault::ALL.len())];
            let corrupt_units = elastic.stats().corrupt_units;
            let length_ms = shortest_ms * f64::powf(longest_ms / shortest_ms, random.random_range(0.0..1.0));
            let length = Duration::from_millis(length_ms as u64);
            fault.set();
            let begun = Instant::now();
            while begun.elapsed() < length {
                // All units have to be read again.
                elastic.set_budget_bytes(0).expect("a budget");
                elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
                look_up_absent(&db);
                thread::sleep(length.mul_f64(random.random_range(0.0..0.1)));
            }
            Fault::None.set();
            let after = format!("outage {outage}, {fault:?} for {length:?}, {open_files} open files");
            longest_recovery = longest_recovery.max(wait_for_all_filters(&elastic, &db, &after));
            assert!(fault == Fault::WrongBytes || elastic.stats().corrupt_units == corrupt_units, "{after}");
            check_db(&db, "outage");
        }
        assert_eq!(elastic.stats().thread_panics, 0);
    }
    println!("{outages} outages, the longest recovery took {longest_recovery:?}");
}

/// Only our own reads fail, or bring wrong bytes, when a table is opened, so that RocksDB goes on.
#[test]
fn tables_whose_units_could_not_be_read_at_open_get_them_later() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), filters(AMPLE_BYTES));
    let mut options = small_tree();
    // The filter block is larger than what one read of a table's tail brings.
    options.set_write_buffer_size(8 << 20);
    options.set_target_file_size_base(8 << 20);
    options.set_disable_auto_compactions(true);
    with_simulated_files(&mut options);
    let options = installed(&elastic, &options);
    {
        let db = DB::open(&options, folder.path()).expect("open");
        for table in 0..3 {
            (0..20_000u32).for_each(|n| db.put((n * 3 + table).to_be_bytes(), b"v").expect("put"));
            db.flush().expect("flush");
        }
    }
    let _ends = Ends;
    for (at_open, later, log) in [
        (Fault::HeadsFail, Fault::HeadsWrong, "cannot be read; it is read without them until they can be"),
        (Fault::HeadsWrong, Fault::HeadsFail, "its filter block is damaged"),
    ] {
        at_open.set();
        let db = DB::open(&options, folder.path()).expect("RocksDB opens its tables");
        assert!(db.get_pinned(1u32.to_be_bytes()).expect("and reads them").is_some());
        assert_eq!(elastic.status(&db).expect("status").tables_with_units, 3);
        assert_eq!(elastic.stats().tables, 0);
        assert!(log_of(folder.path()).contains(log));
        // Tries that fail, or read wrong bytes, do not end the tries.
        later.set();
        thread::sleep(Duration::from_secs(1));
        assert_eq!((elastic.stats().tables, elastic.stats().failing_tables), (0, 3));
        Fault::None.set();
        wait_until("all tables have their units", || elastic.stats().tables == 3);
        wait_until("none fails", || elastic.stats().failing_tables == 0);
        wait_until("they are resident", || {
            let before = elastic.stats().outcomes.wasted_reads;
            (0..1_000u32).for_each(|n| assert!(db.get_pinned((n * 3).to_le_bytes()).is_ok()));
            elastic.stats().outcomes.wasted_reads - before < 20
        });
    }
}

/// A device that fails late: a round of tries takes much longer than one of them.
#[test]
fn a_table_is_closed_while_others_are_tried() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), filters(AMPLE_BYTES));
    let mut options = small_tree();
    options.set_disable_auto_compactions(true);
    with_simulated_files(&mut options);
    let options = installed(&elastic, &options);
    let db = DB::open(&options, folder.path()).expect("open");
    for table in 0..20 {
        (0..1_000u32).for_each(|n| db.put((n * 20 + table).to_be_bytes(), b"v").expect("put"));
        db.flush().expect("flush");
    }
    drop(db);
    let _ends = Ends;
    Fault::HeadsFail.set();
    let db = DB::open(&options, folder.path()).expect("RocksDB opens its tables");
    Fault::HeadsFailLate.set();
    thread::sleep(Duration::from_secs(1));
    let begun = Instant::now();
    drop(db);
    let (closing, round) = (begun.elapsed(), 16 * LATE);
    assert!(closing < round / 2, "closing took {closing:?}, and a round of tries takes {round:?}");
}

/// Its tables were opened without a budget, so that they wait for their units.
#[test]
fn a_table_that_hangs_keeps_nobody_waiting_but_the_end_of_its_database() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, other_folder, elastic) = (folder(), crate::common::folder(), filters(0));
    let mut options = small_tree();
    with_simulated_files(&mut options);
    let options = installed(&elastic, &options);
    let db = DB::open(&options, folder.path()).expect("open");
    let other = DB::open(&installed(&elastic, &small_tree()), other_folder.path()).expect("open");
    [&db, &other].into_iter().for_each(|db| fill_db(db, "hangs"));
    let ends = Ends;
    Fault::Hangs.set();
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    wait_until("its tables fail", || elastic.stats().failing_tables > 0);
    let (ended, has_ended) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
            ended.send(()).expect("the test waits for it");
            // The tables that hang are gone, and no others wait for their units, when it is looked for those.
            thread::sleep(Duration::from_secs(2));
            drop(db);
            ended.send(()).expect("the test waits for it");
        });
        let compacted = has_ended.recv_timeout(Duration::from_secs(60));
        let filtered = (0..600).any(|_| {
            thread::sleep(Duration::from_millis(100));
            wasted_reads(&elastic, &other) <= 2
        });
        let closed = has_ended.recv_timeout(Duration::from_secs(4));
        // Otherwise nothing ends.
        drop(ends);
        assert!(compacted.is_ok() && filtered, "{compacted:?}, other tables are filtered: {filtered}");
        assert!(closed.is_err(), "the database was closed while its file is read");
        has_ended.recv().expect("it is closed then");
    });
    let db = DB::open(&options, folder.path()).expect("open");
    wait_for_all_filters(&elastic, &db, "it hangs no more");
    check_db(&db, "hangs");
}

/// A column family that is dropped while its table hangs ends with its database, and no later.
#[test]
fn a_column_family_that_hangs_keeps_nobody_waiting_but_the_end_of_its_own_database() {
    let _one = ONE_AT_A_TIME.lock();
    let folder = folder();
    let elastic = build(small_segments(AMPLE_BYTES).warm_start_every(Some(Duration::MAX)));
    let mut options = small_tree();
    with_simulated_files(&mut options);
    let options = installed(&elastic, &options);
    let open = |name: &str| {
        let mut db = DB::open(&options, folder.path().join(name)).expect("open");
        db.create_cf("dropped", &options).expect("a column family");
        elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
        fill_db(&db, "kept");
        elastic.set_budget_bytes(0).expect("a budget");
        let family = db.cf_handle("dropped").expect("it was made");
        (0..1_000u32).for_each(|n| db.put_cf(family, n.to_be_bytes(), b"v").expect("put"));
        db.flush_cf(family).expect("flush");
        db
    };
    let [mut some, mut other] = ["some", "other"].map(open);
    let ends = Ends;
    Fault::Hangs.set();
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    // Each half a second another table is tried.
    thread::sleep(Duration::from_secs(5));
    wait_until("visits are known of", || {
        look_up_absent(&other);
        elastic
            .families()
            .iter()
            .any(|family| family.database.ends_with("/other") && family.counts.visits() > 0)
    });
    let (ended, has_ended) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            [&mut some, &mut other].into_iter().for_each(|db| db.drop_cf("dropped").expect("drop"));
            ended.send(()).expect("the test waits for it");
            Fault::SomeHang.set();
            // The other one's try ends.
            thread::sleep(Duration::from_secs(1));
            scope.spawn(|| drop(some));
            thread::sleep(Duration::from_secs(1));
            drop(other);
            ended.send(()).expect("the test waits for it");
        });
        let are_dropped = has_ended.recv_timeout(Duration::from_secs(20));
        let is_closed = has_ended.recv_timeout(Duration::from_secs(20));
        let is_saved = folder.path().join("other").join(HOTNESS_FILE_NAME).exists();
        // Otherwise nothing ends.
        drop(ends);
        assert!(are_dropped.is_ok() && is_closed.is_ok(), "{are_dropped:?}, {is_closed:?}");
        assert!(is_saved, "the filters did not see that the database was closed");
    });
}

/// A secondary instance whose primary compacted, a folder that was renamed, a relative path after `chdir`.
#[test]
fn units_of_a_file_that_lost_its_name_are_read() {
    let _one = ONE_AT_A_TIME.lock();
    let folder = folder();
    let (elastic, path) = (filters(0), folder.path().join("before"));
    let mut options = small_tree();
    options.set_max_open_files(-1);
    let db = DB::open(&installed(&elastic, &options), &path).expect("open");
    fill_db(&db, "renamed");
    fs::rename(&path, folder.path().join("after")).expect("rename");
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    wait_for_all_filters(&elastic, &db, "the folder was renamed");
    assert_eq!(elastic.stats().failed_reads, 0);
    check_db(&db, "renamed");
}

#[test]
fn a_secondary_reads_units_of_tables_that_the_primary_deleted() {
    let _one = ONE_AT_A_TIME.lock();
    let folder = folder();
    let primary = DB::open(&installed(&filters(0), &small_tree()), folder.path().join("db")).expect("open");
    fill_db(&primary, "first");
    let elastic = filters(0);
    let mut options = Options::default();
    options.set_max_open_files(-1);
    let options = installed(&elastic, &options);
    let (db, own) = (folder.path().join("db"), folder.path().join("secondary"));
    let secondary = DB::open_as_secondary(&options, &db, &own).expect("a secondary");
    check_db(&secondary, "first");
    fill_db(&primary, "second");
    primary.compact_range(None::<&[u8]>, None::<&[u8]>);
    wait_until("the primary has deleted its first tables", || {
        let old = |file: &rocksdb::LiveFile| !db.join(file.name.trim_start_matches('/')).exists();
        secondary.live_files().expect("a list").iter().all(old)
    });
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    wait_for_all_filters(&elastic, &secondary, "the tables have no names");
    check_db(&secondary, "first");
}
