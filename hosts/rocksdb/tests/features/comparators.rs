//! Custom comparators: filters know bytes, comparators may not.

use std::cmp::Ordering;

use rocksdb::{DB, Options};
use springbloom_rocksdb::ElasticFilters;

use crate::common::{
    ample, build,
    contents::{check_db, check_db_filtered, fill_db, rejections},
    folder, installed, log_of, metric, small_tree, tables,
};

pub(crate) fn trusting() -> ElasticFilters {
    build(ElasticFilters::builder().segment_size(16 << 10).assume_bytewise_equality(true))
}

fn trusting_and_verifying(share: &str) -> ElasticFilters {
    let trusting = ElasticFilters::builder().assume_bytewise_equality(true);
    trusting.set("verify_share", share).and_then(|builder| builder.build()).expect("the settings are sound")
}

fn backward() -> Options {
    let mut options = small_tree();
    options.set_comparator("backward", Box::new(|a, b| b.cmp(a)));
    options
}

/// Orders keys as if all letters were small: keys that differ in their bytes may be equal.
fn ignoring_case() -> Options {
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        a.iter().map(u8::to_ascii_lowercase).cmp(b.iter().map(u8::to_ascii_lowercase))
    }
    let mut options = small_tree();
    options.set_comparator("ignoring case", Box::new(compare));
    options
}

#[test]
fn a_custom_comparator_gets_no_filters_by_default() {
    let (folder, elastic) = (folder(), ample());
    let db = DB::open(&installed(&elastic, &backward()), folder.path()).expect("open");
    fill_db(&db, "backward");
    assert_eq!(rejections(&elastic, || check_db(&db, "backward")), 0);
    assert_eq!(tables::with_and_without_units(folder.path()).0, 0);
    let log = std::fs::read_to_string(folder.path().join("LOG")).expect("the log can be read");
    assert!(log.contains("springbloom: comparator backward"), "the log says so");
}

#[test]
fn a_trusted_comparator_gets_filters_and_orders_the_segments() {
    let (folder, elastic) = (folder(), trusting());
    let db = DB::open(&installed(&elastic, &backward()), folder.path()).expect("open");
    fill_db(&db, "backward");
    check_db_filtered(&elastic, &db, "backward");
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    check_db_filtered(&elastic, &db, "backward");
    for report in tables::reports(folder.path()) {
        let units = report.units.expect("a trusted table has units").expect("sound");
        assert!(
            units.segments.windows(2).all(|pair| pair[0].first_key > pair[1].first_key),
            "fences run backward"
        );
    }
    // The comparator dies with these options while the manager still knows the tables.
    drop(db);
    let db = DB::open(&installed(&elastic, &backward()), folder.path()).expect("open");
    check_db_filtered(&elastic, &db, "backward");
    fill_db(&db, "forward");
    check_db_filtered(&elastic, &db, "forward");
    // Without trust they are not read.
    drop(db);
    assert!(tables::with_and_without_units(folder.path()).0 > 0);
    let elastic = ample();
    let db = DB::open(&installed(&elastic, &backward()), folder.path()).expect("open");
    assert_eq!(rejections(&elastic, || check_db(&db, "forward")), 0);
}

#[test]
fn keys_that_are_equal_in_other_bytes_are_found() {
    let (folder, elastic) = (folder(), ample());
    let db = DB::open(&installed(&elastic, &ignoring_case()), folder.path()).expect("open");
    for number in 0..3_000 {
        db.put(format!("Key{number:06}"), format!("{number}")).expect("put");
    }
    db.flush().expect("flush");
    elastic.wait_idle(crate::common::IDLE_TIMEOUT);
    for number in 0..3_000 {
        for spelling in ["Key", "KEY", "key"] {
            let got = db.get(format!("{spelling}{number:06}")).expect("get");
            assert_eq!(got, Some(format!("{number}").into_bytes()), "{spelling}{number}");
        }
        assert_eq!(db.get(format!("Kez{number:06}")).expect("get"), None);
    }
    let keys: Vec<_> = (0..3_000).map(|number| format!("kEY{number:06}")).collect();
    assert!(db.multi_get(&keys).into_iter().all(|got| got.expect("multi_get").is_some()));
    assert_eq!(tables::with_and_without_units(folder.path()).0, 0);
}

#[test]
fn rejections_that_are_verified_find_what_a_wrong_promise_hides() {
    for share in ["0", "1"] {
        let (folder, elastic) = (folder(), trusting_and_verifying(share));
        let db = DB::open(&installed(&elastic, &ignoring_case()), folder.path()).expect("open");
        let keys: Vec<_> = (0..100).map(|number| format!("key {number:03}")).collect();
        keys.iter().for_each(|key| db.put(key, key).expect("put"));
        db.flush().expect("flush");
        db.get("key 000").expect("get");
        assert!(elastic.wait_idle(std::time::Duration::from_secs(60)));
        // Other bytes, which the comparator calls equal.
        let others = keys.iter().map(|key| key.to_uppercase());
        let got = others.clone().map(|key| db.get(key));
        let got_together = db.multi_get(others).into_iter();
        let found =
            got.chain(got_together).map(|got| usize::from(got.expect("get").is_some())).sum::<usize>();
        let absent = ["a", "z"].map(|end| db.get(format!("key 050{end}")).expect("get"));
        assert_eq!(absent, [None, None]);
        let text = elastic.metrics_text();
        let verified = metric(&text, "springbloom_rejections_verified_total");
        let wrong = metric(&text, "springbloom_rejections_wrong_total");
        let is_told = log_of(folder.path()).contains("rejected a key that it holds");
        if share == "1" {
            assert_eq!((found, is_told), (200, true));
            assert!(wrong > 150 && verified > wrong, "{verified} {wrong}");
        } else {
            assert!(found < 50, "the units hide {found} of 200 keys");
            assert_eq!((verified, wrong, is_told), (0, 0, false));
        }
    }
}
