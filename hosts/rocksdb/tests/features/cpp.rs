//! What only C++ can do with RocksDB: the tests are in `tests/cpp`.

#![allow(unsafe_code)]

use std::{
    ffi::{c_char, c_int, c_void},
    time::Duration,
};

use rocksdb::SstFileWriter;
use springbloom_rocksdb::{ElasticFilters, UnitSettings};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, ample, build, folder, has_passed_alone, installed, merge_by_append, metric,
    small_segments, small_tree,
    unsafe_calls::{CppTest, is_from, run_cpp_test},
    wait_until,
};

macro_rules! tests_in_cpp {
    ($($name:ident)*) => {
        unsafe extern "C" {
            $(fn $name(_: *mut c_void, _: *const c_char, _: *mut c_char, _: usize) -> c_int;)*
        }
    };
}

tests_in_cpp! {
    springbloom_test_wide_columns
    springbloom_test_merge_operands
    springbloom_test_embedded_blobs
    springbloom_test_prepared_transactions
    springbloom_test_foreign_keys
    springbloom_test_prepopulated_cache
    springbloom_test_corrupt_reads
    springbloom_test_charged_construction
    springbloom_test_data_bytes
    springbloom_test_closed
    springbloom_test_hash_index
    springbloom_test_closing
    springbloom_test_lent_cache
    springbloom_test_option_strings
}

unsafe extern "C" {
    safe fn springbloom_test_is_closing() -> c_int;
    safe fn springbloom_test_go_on_closing();
}

fn run(test: CppTest, options: &rocksdb::Options) {
    run_with(&ample(), test, options);
}

/// Runs a test over elastic filters, which must have rejected some lookups in it.
fn run_with(elastic: &ElasticFilters, test: CppTest, options: &rocksdb::Options) {
    let folder = folder();
    run_cpp_test(test, &mut installed(elastic, options), folder.path());
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
    assert!(elastic.stats().outcomes.rejected > 100, "{:?}", elastic.stats());
}

/// In a process of its own: strings share one instance.
#[test]
fn option_strings_bring_filters_share_an_instance_and_are_refused_in_words() {
    if has_passed_alone(option_strings_bring_filters_share_an_instance_and_are_refused_in_words, &[]) {
        return;
    }
    run_cpp_test(springbloom_test_option_strings, &mut rocksdb::Options::default(), folder().path());
}

#[test]
fn wide_columns_are_found_by_every_call() {
    run(springbloom_test_wide_columns, &small_tree());
}

#[test]
fn merge_operands_come_one_by_one() {
    let mut options = small_tree();
    merge_by_append(&mut options);
    options.set_disable_auto_compactions(true);
    run(springbloom_test_merge_operands, &options);
}

#[test]
fn tables_with_their_blobs_inside_have_filters() {
    if !is_from((11, 8, 1)) {
        return;
    }
    run(springbloom_test_embedded_blobs, &small_tree());
}

#[test]
fn transactions_that_write_before_they_commit_see_what_they_may() {
    run(springbloom_test_prepared_transactions, &small_tree());
}

#[test]
fn seeks_that_find_nothing_hide_no_keys_from_others() {
    run(springbloom_test_hash_index, &small_tree());
}

#[test]
fn a_comparator_is_given_keys_of_its_column_family_alone() {
    let (folder, elastic) = (folder(), ample());
    let path = folder.path().join("db");
    run_cpp_test(springbloom_test_foreign_keys, &mut installed(&elastic, &small_tree()), &path);
}

#[test]
fn a_closed_database_is_left_alone() {
    for warm_start_every in [Some(Duration::from_secs(1)), None] {
        let folder = folder();
        let elastic = build(small_segments(AMPLE_BYTES).warm_start_every(warm_start_every));
        run_cpp_test(springbloom_test_closed, &mut installed(&elastic, &small_tree()), folder.path());
        assert_eq!(elastic.stats().tables, 0);
    }
}

#[test]
fn tables_that_get_units_while_their_database_is_closed_touch_nothing_of_its_column_families() {
    let folder = folder();
    let elastic = build(ElasticFilters::builder().budget_bytes(0));
    let mut options = installed(&elastic, &small_tree());
    std::thread::scope(|scope| {
        scope.spawn(|| run_cpp_test(springbloom_test_closing, &mut options, folder.path()));
        wait_until("the first table is being closed", || springbloom_test_is_closing() != 0);
        elastic.set_budget_bytes(AMPLE_BYTES).expect("no budget is too large");
        wait_until("the other tables have units", || elastic.stats().tables == 7);
        springbloom_test_go_on_closing();
    });
    assert_eq!(elastic.stats().tables, 0);
}

#[test]
fn a_database_of_many_tables_is_not_summed_up_at_each_flush() {
    let elastic = build(ElasticFilters::builder().budget_auto());
    run_cpp_test(springbloom_test_data_bytes, &mut installed(&elastic, &small_tree()), folder().path());
}

#[test]
fn units_are_not_put_into_a_block_cache() {
    let (folder, elastic) = (folder(), ample());
    run_cpp_test(springbloom_test_prepopulated_cache, &mut installed(&elastic, &small_tree()), folder.path());
}

#[test]
fn blocks_of_a_lent_cache_are_given_back_after_their_database() {
    let builder = ElasticFilters::builder().budget_bytes(1 << 20).charge_to_block_cache(true);
    let elastic = builder.warm_start_every(None).build().expect("the settings are sound");
    run_with(&elastic, springbloom_test_lent_cache, &small_tree());
}

#[test]
fn corrupt_reads_of_units_are_made_once_more_where_they_can_be_mended() {
    if !is_from((9, 5, 0)) {
        return; // no file system can mend
    }
    run(springbloom_test_corrupt_reads, &small_tree());
}

/// 32 bytes of units for each key, so that a table of few keys has more than memory should hold.
fn large_units() -> ElasticFilters {
    build(small_segments(AMPLE_BYTES).units(UnitSettings::bloom(32, 8).expect("as many as there may be")))
}

#[test]
fn units_under_construction_are_charged_to_a_block_cache_that_pays_for_them() {
    let (folder, elastic) = (folder(), large_units());
    let path = folder.path().join("table");
    run_cpp_test(springbloom_test_charged_construction, &mut installed(&elastic, &small_tree()), &path);
}

#[test]
fn memory_of_a_table_that_is_written_is_counted() {
    let (folder, elastic) = (folder(), large_units());
    let builder_bytes = || metric(&elastic.metrics_text(), "springbloom_builder_bytes");
    let options = installed(&elastic, &small_tree());
    let mut writer = SstFileWriter::create(&options);
    writer.open(folder.path().join("table.sst")).expect("open");
    let mut most = 0;
    for number in 0..1_000_000u64 {
        writer.put(number.to_be_bytes(), b"").expect("put");
        if number % 10_000 == 0 {
            most = most.max(builder_bytes());
        }
    }
    writer.finish().expect("finish");
    // 32 bytes a key, in buffers that double.
    assert!((30 << 20..72 << 20).contains(&most), "{most} bytes");
    drop(writer);
    assert_eq!(builder_bytes(), 0);
}
