//! User-defined timestamps: filters know keys without them.

use std::cmp::Ordering;

use rocksdb::{DB, IteratorMode, Options, ReadOptions};
use springbloom_rocksdb::ElasticFilters;

use crate::{
    common::{ample, contents::rejections, folder, installed, small_tree, stock, tables},
    comparators::trusting,
};

const NUMBERS: u64 = 2_500;
const TIMESTAMP_BYTES: usize = 8;

fn key(number: u64) -> Vec<u8> {
    format!("key{number:06}").into_bytes()
}

/// RocksDB's own bytewise comparator with timestamps of 8 bytes.
fn own() -> Options {
    small_tree()
        .get_options_from_string("comparator=leveldb.BytewiseComparator.u64ts")
        .expect("RocksDB has it")
}

/// A program's comparator with timestamps, keys bytewise.
fn custom() -> Options {
    fn timestamp(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(bytes.try_into().expect("a timestamp has 8 bytes"))
    }
    fn by_timestamp(a: &[u8], b: &[u8]) -> Ordering {
        timestamp(a).cmp(&timestamp(b))
    }
    fn key_of(key: &[u8], with_timestamp: bool) -> &[u8] {
        &key[..key.len() - if with_timestamp { TIMESTAMP_BYTES } else { 0 }]
    }
    fn without_timestamp(a: &[u8], a_has: bool, b: &[u8], b_has: bool) -> Ordering {
        key_of(a, a_has).cmp(key_of(b, b_has))
    }
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        let (a_key, a_time) = a.split_at(a.len() - TIMESTAMP_BYTES);
        let (b_key, b_time) = b.split_at(b.len() - TIMESTAMP_BYTES);
        // The newest first.
        a_key.cmp(b_key).then_with(|| by_timestamp(b_time, a_time))
    }
    let mut options = small_tree();
    options.set_comparator_with_ts(
        "timed",
        TIMESTAMP_BYTES,
        Box::new(compare),
        Box::new(by_timestamp),
        Box::new(without_timestamp),
    );
    options
}

fn at(time: u64) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_timestamp(time.to_le_bytes());
    options
}

/// Numbers divisible by 2 come at time 10, those divisible by 3 change at 20, those divisible by 5 go at 30.
fn fill(db: &DB) {
    for (time, divisor) in [(10_u64, 2), (20, 3), (30, 5)] {
        for number in (0..NUMBERS).filter(|number| number % divisor == 0) {
            let time_bytes = time.to_le_bytes();
            match time {
                30 => db.delete_with_ts(key(number), time_bytes).expect("delete"),
                _ => db.put_with_ts(key(number), time_bytes, format!("{time}/{number}")).expect("put"),
            }
        }
        db.flush().expect("flush");
    }
}

fn expected(number: u64, time: u64) -> Option<Vec<u8>> {
    let written = match () {
        () if time >= 30 && number.is_multiple_of(5) => None,
        () if time >= 20 && number.is_multiple_of(3) => Some(20),
        () if time >= 10 && number.is_multiple_of(2) => Some(10),
        () => None,
    };
    written.map(|time| format!("{time}/{number}").into_bytes())
}

fn check(db: &DB) {
    for time in [5, 10, 15, 20, 29, 30, 1_000] {
        let options = at(time);
        for number in 0..NUMBERS {
            assert_eq!(
                db.get_opt(key(number), &options).expect("get"),
                expected(number, time),
                "{number} at {time}"
            );
        }
        let numbers: Vec<u64> = (0..200).collect();
        let got = db.multi_get_opt(numbers.iter().map(|&number| key(number)), &options);
        for (number, got) in numbers.into_iter().zip(got) {
            assert_eq!(got.expect("multi_get"), expected(number, time), "{number} at {time}");
        }
        let walked: Vec<_> = db
            .iterator_opt(IteratorMode::Start, at(time))
            .map(|entry| entry.map(|(key, value)| (key.into_vec(), value.into_vec())).expect("walk"))
            .collect();
        let all: Vec<_> = (0..NUMBERS)
            .filter_map(|number| expected(number, time).map(|value| (key(number), value)))
            .collect();
        assert_eq!(walked, all, "at {time}");
    }
}

fn check_with_filters(options: &Options, elastic: &ElasticFilters) {
    let folder = folder();
    let options = installed(elastic, options);
    let db = DB::open(&options, folder.path()).expect("open");
    fill(&db);
    assert!(rejections(elastic, || check(&db)) > NUMBERS);
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert!(rejections(elastic, || check(&db)) > NUMBERS);
    stock::verify_checksums(&db).expect("checksums");
    drop(db);
    let db = DB::open(&options, folder.path()).expect("open");
    assert!(rejections(elastic, || check(&db)) > NUMBERS);
}

#[test]
fn rocksdbs_own_timestamps_have_filters() {
    check_with_filters(&own(), &ample());
}

#[test]
fn custom_timestamps_have_filters_when_trusted() {
    check_with_filters(&custom(), &trusting());
}

#[test]
fn custom_timestamps_have_no_filters_by_default() {
    let (folder, elastic) = (folder(), ample());
    let db = DB::open(&installed(&elastic, &custom()), folder.path()).expect("open");
    fill(&db);
    assert_eq!(rejections(&elastic, || check(&db)), 0);
    assert_eq!(tables::with_and_without_units(folder.path()).0, 0);
}

#[test]
fn timestamps_that_are_not_persisted_do_not_reach_the_filters() {
    let (folder, elastic) = (folder(), ample());
    let mut options = own()
        .get_options_from_string(
            "persist_user_defined_timestamps=false;allow_concurrent_memtable_write=false",
        )
        .expect("the string is sound");
    options.create_if_missing(true);
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    for number in (0..NUMBERS).step_by(2) {
        db.put_with_ts(key(number), 10_u64.to_le_bytes(), format!("10/{number}")).expect("put");
    }
    db.flush().expect("flush");
    let newest = at(u64::MAX);
    let check = || {
        for number in 0..NUMBERS {
            let expected = (number % 2 == 0).then(|| format!("10/{number}").into_bytes());
            assert_eq!(db.get_opt(key(number), &newest).expect("get"), expected, "{number}");
        }
    };
    assert!(rejections(&elastic, check) > NUMBERS / 3);
    assert!(tables::with_and_without_units(folder.path()).0 > 0);
}
