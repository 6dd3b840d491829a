//! Iterators find what an ordered map has (`tests/cpp/prefix_oracle.cc`), under settings as drawn.
//!
//! `SPRINGBLOOM_ORACLE_SEEKS`: answers to compare, `SPRINGBLOOM_SEED`: the first database's seed.

#![allow(unsafe_code)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;

use rand::{RngExt, seq::IndexedRandom};
use rocksdb::AsRawPtr;
use springbloom_rocksdb::{ElasticFilters, ElasticFiltersBuilder};
use springbloom_testkit::seed::{TestRng, rng_from, seed};

use crate::common::{
    AMPLE_BYTES, folder, installed, number, small_tree,
    unsafe_calls::{is_from, with_message},
};

unsafe extern "C" {
    fn springbloom_test_prefix_oracle(
        first_options: *mut c_void,
        second_options: *mut c_void,
        is_stock: c_int,
        path: *const c_char,
        seed: u64,
        answers: *mut u64,
        error: *mut c_char,
        error_size: usize,
    ) -> c_int;
}

fn filters(rng: &mut TestRng) -> ElasticFiltersBuilder {
    ElasticFilters::builder()
        .budget_bytes(AMPLE_BYTES)
        .segment_size(*[16 << 10, 16 << 10, 1 << 20].choose(rng).expect("not empty"))
        .units(["ribbon:16", "ribbon:2", "bloom:2x8"].choose(rng).expect("not empty").parse().expect("units"))
        .create_filters(rng.random_bool(0.9))
}

#[test]
fn iterators_find_what_an_ordered_map_has() {
    // RocksDB 8.10 gives other entries with stock tables, too.
    if !is_from((9, 7, 3)) {
        return;
    }
    let wanted = number("SPRINGBLOOM_ORACLE_SEEKS", 400_000);
    let first_seed = seed("iterators_find_what_an_ordered_map_has");
    let (mut answers, mut rejected, mut databases) = (0, 0, 0);
    let folder = folder();
    let path = CString::new(folder.path().as_os_str().as_bytes()).expect("no NUL in a path");
    while answers < wanted {
        // One after another, so that a failure is repeated by its own seed.
        let seed = first_seed.wrapping_add(databases);
        let rng = &mut rng_from(seed);
        let builders = [filters(rng), filters(rng)];
        let told = builders.each_ref().map(|builder| builder.settings().clone());
        let both = builders.map(|builder| builder.build().expect("the settings are sound"));
        let options = both.each_ref().map(|elastic| installed(elastic, &small_tree()));
        let mut of_this = 0;
        let mut compare = |is_stock| {
            with_message(|error, size| {
                let answers = &raw mut of_this;
                // SAFETY: options, path and buffers live through the call.
                unsafe {
                    let [first, second] = options.each_ref().map(|options| options.as_raw_ptr().cast());
                    springbloom_test_prefix_oracle(
                        first,
                        second,
                        is_stock,
                        path.as_ptr(),
                        seed,
                        answers,
                        error,
                        size,
                    )
                }
            })
        };
        let result = compare(0);
        if result.is_err() {
            // Iterators of RocksDB 11.8.1 pass over keys now and then, with stock tables as well.
            assert_eq!(
                result,
                compare(1),
                "SPRINGBLOOM_SEED={seed}: ours, and what stock tables give; {told:?}"
            );
            eprintln!("SPRINGBLOOM_SEED={seed}: stock tables give the same, {result:?}");
        }
        answers += of_this;
        databases += 1;
        rejected += both.iter().map(|elastic| elastic.stats().outcomes.rejected).sum::<u64>();
    }
    eprintln!(
        "{answers} answers of iterators compared in {databases} databases, {rejected} rejected, SPRINGBLOOM_SEED={first_seed}"
    );
    assert!(rejected > answers / 100, "{rejected} rejected: the test shows nothing");
}
