//! Random operations against an ordered map, under many option sets; each database then goes to stock RocksDB and back.
//!
//! `SPRINGBLOOM_ORACLE_OPS` sets the number of operations over all named sets (default a million), `SPRINGBLOOM_ORACLE_CHECKS` the
//! number of compared answers over drawn ones (default a million), `SPRINGBLOOM_SEED` the seed.

#[path = "../common/mod.rs"]
mod common;
mod drawn;
mod keys;
mod operations;
mod run;
mod sets;

use rand::RngExt;
use rocksdb::DBCompressionType;
use springbloom_published_policies::PolicyKind;
use springbloom_testkit::seed::{rng_from, seed};

use crate::{
    common::number,
    run::{operations_per_set, run},
    sets::{Budget, plain},
};

macro_rules! option_sets {
    ($($name:ident => $set:expr;)*) => {
        const SET_COUNT: u64 = [$(stringify!($name)),*].len() as u64;

        $(
            #[test]
            fn $name() {
                run($set, seed(stringify!($name)), operations_per_set(SET_COUNT));
            }
        )*
    };
}

option_sets! {
    plain_options => plain();
    lz4 => plain().compression(DBCompressionType::Lz4);
    zstd => plain().compression(DBCompressionType::Zstd);
    parallel_compression => plain().parallel_compression();
    compression_dictionary => plain().compression_dictionary();
    parallel_compression_with_dictionary => plain().parallel_compression().compression_dictionary();
    format_version_2 => plain().format_version(2);
    format_version_3 => plain().format_version(3);
    format_version_4 => plain().format_version(4).compression(DBCompressionType::Lz4);
    format_version_5 => plain().format_version(5);
    format_version_6 => plain().format_version(6);
    format_version_7 => plain().format_version(7).compression(DBCompressionType::Zstd);
    partitioned_index => plain().partitioned_index();
    partitioned_stock_filter => plain().partitioned_stock_filter();
    stock_bloom => plain().table(|table| table.set_bloom_filter(10.0, false));
    stock_bloom_in_block_cache => plain().block_cache(Some(256 << 10)).table(|table| {
        table.set_ribbon_filter(10.0);
        table.set_cache_index_and_filter_blocks(true);
        table.set_pin_l0_filter_and_index_blocks_in_cache(true);
    });
    mmap_reads => plain().db(|db| db.set_allow_mmap_reads(true));
    direct_io => plain().block_cache(Some(64 << 10)).db(|db| {
        db.set_use_direct_reads(true);
        db.set_use_direct_io_for_flush_and_compaction(true);
    });
    tiny_table_cache => plain().db(|db| db.set_max_open_files(20));
    subcompactions => plain().db(|db| {
        db.set_max_subcompactions(4);
        db.set_max_background_jobs(4);
    });
    universal_compaction => plain().universal();
    dynamic_levels => plain().db(|db| db.set_level_compaction_dynamic_level_bytes(true));
    index_in_block_cache => plain().block_cache(Some(128 << 10))
        .table(|table| table.set_cache_index_and_filter_blocks(true));
    resident_indexes => plain().charged(1 << 20).partitioned_index();
    resident_indexes_wandering => plain().charged(1 << 20).partitioned_index().budget(Budget::Wandering)
        .compression(DBCompressionType::Lz4);
    resident_indexes_of_tiny_tables => plain().charged(1 << 20).partitioned_index().format_version(3)
        .db(|db| db.set_target_file_size_base(8 << 10)).prefix_extractor();
    resident_whole_indexes => plain().charged(1 << 20).db(|db| db.set_max_open_files(20))
        .table(|table| table.set_cache_index_and_filter_blocks(true));
    no_block_cache => plain().block_cache(None);
    prefix_extractor => plain().prefix_extractor();
    prefix_extractor_without_whole_keys => plain().prefix_extractor().table(|table| {
        table.set_bloom_filter(10.0, false);
        table.set_whole_key_filtering(false);
    });
    long_prefixes => plain().long_prefixes();
    long_prefixes_of_tiny_tables => plain().long_prefixes().db(|db| {
        db.set_target_file_size_base(8 << 10);
        db.set_max_open_files(20);
    });
    long_prefixes_wandering => plain().long_prefixes().budget(Budget::Wandering);
    long_prefixes_alone => plain().long_prefixes().table(|table| table.set_whole_key_filtering(false));
    long_prefixes_alone_wandering => plain().long_prefixes().budget(Budget::Wandering).universal()
        .table(|table| table.set_whole_key_filtering(false));
    without_whole_keys => plain().table(|table| table.set_whole_key_filtering(false));
    hash_index => plain().hash_index();
    hash_index_of_capped_prefixes => plain().hash_index().capped_prefixes();
    index_with_first_keys => plain().index_with_first_keys();
    capped_prefixes => plain().capped_prefixes();
    capped_prefixes_wandering => plain().capped_prefixes().budget(Budget::Wandering);
    data_block_hash => plain().data_block_hash();
    optimize_filters_for_hits => plain().db(|db| db.set_optimize_filters_for_hits(true));
    large_segments => plain().segment_size(4 << 20);
    one_fat_unit => plain().units(1, 8);
    units_that_let_much_pass => plain().units(1, 1);
    units_that_let_much_pass_in_tiny_tables => plain().units(1, 1).db(|db| db.set_target_file_size_base(8 << 10));
    many_thin_units => plain().units(12, 1).segment_size(64 << 10);
    no_budget => plain().budget(Budget::Fixed(0));
    budget_below_bookkeeping => plain().budget(Budget::Fixed(300));
    tiny_budget => plain().budget(Budget::Fixed(6 << 10));
    budget_of_a_few_units => plain().budget(Budget::Fixed(40 << 10));
    budget_of_a_few_units_uniform => plain().policy(PolicyKind::Uniform).budget(Budget::Fixed(48 << 10));
    budget_of_a_few_units_monkey => plain().policy(PolicyKind::Monkey).budget(Budget::Fixed(56 << 10));
    budget_of_a_few_units_multi_queue => plain().policy(PolicyKind::MultiQueue).budget(Budget::Fixed(64 << 10));
    wandering_budget => plain().budget(Budget::Wandering);
    wandering_budget_tiny_table_cache => plain().budget(Budget::Wandering).db(|db| db.set_max_open_files(20));
    uniform => plain().policy(PolicyKind::Uniform);
    uniform_wandering => plain().policy(PolicyKind::Uniform).budget(Budget::Wandering);
    monkey => plain().policy(PolicyKind::Monkey);
    monkey_wandering => plain().policy(PolicyKind::Monkey).budget(Budget::Wandering);
    multi_queue => plain().policy(PolicyKind::MultiQueue);
    multi_queue_wandering => plain().policy(PolicyKind::MultiQueue).budget(Budget::Wandering);
}

#[test]
fn the_same_operations_give_the_same_answers_under_every_policy_and_budget() {
    let seed = seed("the_same_operations_give_the_same_answers_under_every_policy_and_budget");
    let count = 3_000;
    let expected = run(plain(), seed, count).answers;
    for policy in PolicyKind::ALL {
        for budget in [Budget::Fixed(0), Budget::Fixed(40 << 10), Budget::Wandering] {
            assert_eq!(run(plain().policy(policy).budget(budget), seed, count).answers, expected, "{policy}");
        }
    }
    assert_eq!(run(plain().universal().compression(DBCompressionType::Lz4), seed, count).answers, expected);
}

/// Draws option sets until `SPRINGBLOOM_ORACLE_CHECKS` answers (default a million) were compared.
#[test]
fn drawn_option_sets() {
    let checks_total = number("SPRINGBLOOM_ORACLE_CHECKS", 1_000_000);
    let mut rng = rng_from(seed("drawn_option_sets"));
    let (mut checks, mut rejected, mut sets) = (0, 0, 0);
    while checks < checks_total {
        let (set, description) = drawn::option_set(&mut rng);
        // Else one set may compare thirty times as many answers as are asked for: an hour under a sanitizer.
        let most_operations = 100 + (checks_total - checks) / set.lookups_per_operation.max(1);
        let (seed, operations) = (rng.random(), rng.random_range(1_000..6_000).min(most_operations));
        eprintln!(
            "{checks} answers compared, set {sets}: {description}, seed {seed}, {operations} operations"
        );
        let seen = run(set, seed, operations);
        checks += seen.checks;
        rejected += seen.rejected;
        sets += 1;
    }
    eprintln!("{checks} answers compared under {sets} option sets, {rejected} lookups rejected by units");
}
