//! Tables with resident indexes answer as stock RocksDB does (`tests/cpp/resident_index_oracle.cc`), under options as drawn.
//!
//! `SPRINGBLOOM_ORACLE_DATABASES`: how many, `SPRINGBLOOM_SEED`: the first one's seed.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use rand::RngExt;
use rocksdb::{AsRawPtr, BlockBasedOptions, Cache, Options};
use springbloom_rocksdb::ElasticFilters;
use springbloom_testkit::seed::{rng_from, seed};

use crate::common::{
    folder, installed, number,
    unsafe_calls::{is_from, with_message},
    wait_until,
};

unsafe extern "C" {
    fn springbloom_test_resident_index_oracle(
        options: *mut c_void,
        path: *const c_char,
        seed: u64,
        answers: *mut u64,
        resident: *mut u64,
        error: *mut c_char,
        error_size: usize,
    ) -> c_int;
}

#[test]
fn tables_with_resident_indexes_answer_as_stock_rocksdb() {
    if !is_from((11, 8, 1)) {
        return;
    }
    let wanted = number("SPRINGBLOOM_ORACLE_DATABASES", 20);
    let first_seed = seed("tables_with_resident_indexes_answer_as_stock_rocksdb");
    let (mut answers, mut resident, mut with_resident) = (0, 0, 0);
    let folder = folder();
    let path = CString::new(folder.path().join("db").as_os_str().as_bytes()).expect("no NUL in a path");
    for database in 0..wanted {
        // One after another, so that a failure is repeated by its own seed.
        let seed = first_seed.wrapping_add(database);
        let rng = &mut rng_from(seed);
        let mut table = BlockBasedOptions::default();
        let bytes = [60 << 10, 1 << 20, 8 << 20, 8 << 20][rng.random_range(0..4)];
        table.set_block_cache(&match rng.random_range(0..3) {
            0 => Cache::new_hyper_clock_cache(bytes, 0),
            _ => Cache::new_lru_cache(bytes),
        });
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_block_based_table_factory(&table);
        let elastic = ElasticFilters::builder()
            .budget_auto()
            .segment_size([16 << 10, 1 << 20][rng.random_range(0..2)])
            .build()
            .expect("the settings are sound");
        let options = installed(&elastic, &options);
        let mut of_this = 0;
        let result = with_message(|error, size| {
            // SAFETY: options, path and buffers live through the call.
            unsafe {
                springbloom_test_resident_index_oracle(
                    options.as_raw_ptr().cast(),
                    path.as_ptr(),
                    seed,
                    &raw mut answers,
                    &raw mut of_this,
                    error,
                    size,
                )
            }
        });
        assert!(result.is_ok(), "SPRINGBLOOM_SEED={seed}: {result:?}");
        wait_until("all is given back", || {
            let stats = elastic.stats();
            stats.used.indexes == 0 && stats.resident_indexes == 0
        });
        resident += of_this;
        with_resident += u64::from(of_this > 0);
    }
    eprintln!(
        "{answers} answers compared in {wanted} databases, {with_resident} of them with {resident} resident indexes, \
         SPRINGBLOOM_SEED={first_seed}"
    );
    assert!(with_resident > wanted / 10, "{with_resident} of {wanted} had a resident index");
}
