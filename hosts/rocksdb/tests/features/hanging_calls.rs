//! One store's device hangs, in one call after the other. Other stores are opened, written, and closed meanwhile, and get their units.

#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int, c_void},
    fs,
    path::Path,
    sync::mpsc::channel,
    time::Duration,
};

use rocksdb::{DB, Options};
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT,
    contents::{NUMBERS, check_db, fill_db, key, value},
    folder, installed, small_tree,
    unsafe_calls::run_cpp_test,
    wait_until,
};

unsafe extern "C" {
    fn springbloom_test_hanging_calls(_: *mut c_void, _: *const c_char, _: *mut c_char, _: usize) -> c_int;
    safe fn springbloom_test_set_hanging_call(call: c_int);
    safe fn springbloom_test_hanging_threads() -> c_int;
}

/// As `tests/cpp/hanging_calls.cc` numbers them, and whether filters make them by themselves.
const CALLS: [(c_int, &str, bool); 7] = [
    (1, "read", true),
    (2, "open", true),
    (3, "exists", true),
    (4, "log", true),
    (5, "rename", false),
    (6, "delete", false),
    (7, "sync", false),
];

/// Ends the hanging also when the test fails: closing the store waits for it.
struct Hangs;

impl Drop for Hangs {
    fn drop(&mut self) {
        springbloom_test_set_hanging_call(0);
    }
}

/// Opens a store, writes it, drops a column family, and closes it.
fn live(options: &Options, path: &Path) {
    let mut db = DB::open(options, path).expect("open");
    db.create_cf("dropped", options).expect("a column family");
    let family = db.cf_handle("dropped").expect("it was made");
    (0..100).for_each(|number| db.put_cf(family, key(number), value("dropped", number)).expect("put"));
    db.flush_cf(family).expect("flush");
    fill_db(&db, "lives");
    check_db(&db, "lives");
    db.drop_cf("dropped").expect("drop");
}

fn other_stores_live_while_it_hangs(call: c_int, name: &str, is_made: bool) {
    let folder = folder();
    let elastic = ElasticFilters::builder().budget_bytes(AMPLE_BYTES).segment_data_bytes(16 << 10);
    let elastic = elastic.warm_start_every(Some(Duration::from_millis(50))).build().expect("sound settings");
    let healthy = installed(&elastic, &small_tree());
    let [one, two] = ["one", "two"].map(|name| folder.path().join(name));
    fill_db(&DB::open(&healthy, &one).expect("open"), "one");
    // So that there is something to log.
    fs::write(one.join(HOTNESS_FILE_NAME), "damaged").expect("write");
    let mut options = small_tree();
    // Most tables are closed, and opened to read their units.
    options.set_max_open_files(12);
    run_cpp_test(springbloom_test_hanging_calls, &mut options, folder.path());
    let hanging = DB::open(&installed(&elastic, &options), folder.path().join("hanging")).expect("open");
    fill_db(&hanging, "hangs");
    check_db(&hanging, "hangs");
    elastic.set_budget_bytes(0).expect("a budget");
    let one = DB::open(&healthy, one).expect("open");
    let hangs = Hangs;
    springbloom_test_set_hanging_call(call);
    elastic.set_budget_bytes(AMPLE_BYTES).expect("a budget");
    if is_made {
        wait_until(&format!("a thread hangs: {name}"), || springbloom_test_hanging_threads() > 0);
    }
    // Not by waiting until nothing is left to load: what hangs is.
    wait_until(&format!("the tables of another store have units: {name}"), || {
        let before = elastic.stats().outcomes.rejected;
        check_db(&one, "one");
        elastic.stats().outcomes.rejected - before >= u64::from(NUMBERS) / 3
    });
    let (lived, have_lived) = channel();
    let healthy = &healthy;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            live(healthy, &two);
            drop(one);
            live(healthy, &folder.path().join("three"));
            lived.send(()).expect("the test waits for it");
        });
        let have_lived = have_lived.recv_timeout(IDLE_TIMEOUT);
        let hang = springbloom_test_hanging_threads();
        drop(hangs);
        assert!(have_lived.is_ok(), "other stores wait: {name}");
        assert!(hang > 0 || !is_made, "nothing hung any more: {name}");
    });
    check_db(&hanging, "hangs");
}

#[test]
fn a_store_whose_calls_hang_keeps_no_other_store_waiting() {
    for (call, name, is_made) in CALLS {
        other_stores_live_while_it_hangs(call, name, is_made);
    }
}
