//! Contents that tell for every key whether it is there: even numbers are, odd ones between them are not.

use rocksdb::{AsColumnFamilyRef, DB, WaitForCompactOptions};
use springbloom_rocksdb::ElasticFilters;

use super::IDLE_TIMEOUT;

/// Numbers that tests use unless they say otherwise: enough for several tables of several segments.
pub(crate) const NUMBERS: u32 = 4_000;

pub(crate) fn key(number: u32) -> Vec<u8> {
    format!("key{number:07}").into_bytes()
}

/// Depends on `tag`, so that values of different databases differ.
pub(crate) fn value(tag: &str, number: u32) -> Vec<u8> {
    format!("{tag}/{number}/{}", "v".repeat(number as usize % 90)).into_bytes()
}

pub(crate) fn is_present(number: u32) -> bool {
    number.is_multiple_of(2)
}

/// Puts all even numbers in an order that spreads every table over the whole range.
pub(crate) fn fill(numbers: u32, mut put: impl FnMut(&[u8], &[u8]), tag: &str) {
    for stride in 0..7 {
        for number in (stride..numbers).step_by(7).filter(|&number| is_present(number)) {
            put(&key(number), &value(tag, number));
        }
    }
}

/// Fills a column family and flushes it, so that all of it lies in tables.
pub(crate) fn fill_family(db: &DB, family: &impl AsColumnFamilyRef, tag: &str) {
    fill(NUMBERS, |key, value| db.put_cf(family, key, value).expect("put"), tag);
    db.flush_cf(family).expect("flush");
}

/// Fills the default column family and flushes it.
pub(crate) fn fill_db(db: &DB, tag: &str) {
    fill(NUMBERS, |key, value| db.put(key, value).expect("put"), tag);
    db.flush().expect("flush");
    // Or a file that a compaction is writing is in the folder when a test looks at the tables there.
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
}

/// Looks up every number.
///
/// # Panics
/// On a wrong answer.
pub(crate) fn check<V: AsRef<[u8]>>(numbers: u32, mut get: impl FnMut(&[u8]) -> Option<V>, tag: &str) {
    for number in 0..numbers {
        let got = get(&key(number));
        let expected = is_present(number).then(|| value(tag, number));
        assert_eq!(got.as_ref().map(AsRef::as_ref), expected.as_deref(), "number {number} of {tag}");
    }
}

/// Checks a column family.
pub(crate) fn check_family(db: &DB, family: &impl AsColumnFamilyRef, tag: &str) {
    check(NUMBERS, |key| db.get_pinned_cf(family, key).expect("get"), tag);
}

/// Checks the default column family.
pub(crate) fn check_db(db: &DB, tag: &str) {
    check(NUMBERS, |key| db.get_pinned(key).expect("get"), tag);
}

/// Lookups that units reject while `run` runs, once the loader came to rest.
pub(crate) fn rejections(elastic: &ElasticFilters, run: impl FnOnce()) -> u64 {
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
    let before = elastic.stats().outcomes.rejected;
    run();
    elastic.stats().outcomes.rejected - before
}

/// [`check_db`], and units must reject most of the absent numbers in it.
pub(crate) fn check_db_filtered(elastic: &ElasticFilters, db: &DB, tag: &str) {
    let rejections = rejections(elastic, || check_db(db, tag));
    assert!(
        rejections >= u64::from(NUMBERS) / 3,
        "only {rejections} lookups were rejected: {:?}",
        elastic.stats()
    );
}
