//! From stock filters to elastic ones and back, without a gap.

use rocksdb::{BlockBasedOptions, DB, Options, statistics::Ticker};
use springbloom_rocksdb::ElasticFilters;

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, ample, build,
    contents::{NUMBERS, check_db, fill_db},
    folder, installed, small_segments, small_tree, stock,
};

/// Options with stock Bloom filters, and statistics of their own.
fn with_bloom() -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    let mut options = small_tree();
    options.set_block_based_table_factory(&table);
    options.enable_statistics();
    options
}

fn draining() -> ElasticFilters {
    build(small_segments(AMPLE_BYTES).create_filters(false))
}

/// Data blocks that looking up every number asks for.
fn data_blocks(options: &Options, db: &DB, tag: &str) -> u64 {
    let asked = || {
        [Ticker::BlockCacheDataHit, Ticker::BlockCacheDataMiss]
            .map(|t| options.get_ticker_count(t))
            .iter()
            .sum::<u64>()
    };
    let before = asked();
    check_db(db, tag);
    asked() - before
}

#[test]
fn the_way_back_to_stock_filters_has_no_gap() {
    let folder = folder();
    // Half of the numbers are there: each of those needs a data block.
    let needed = u64::from(NUMBERS) / 2;
    let close_to_needed = |blocks: u64| blocks < needed + needed / 5;
    {
        let (elastic, options) = (ample(), with_bloom());
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        fill_db(&db, "switched");
        stock::rewrite(&db);
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
        let blocks = data_blocks(&options, &db, "switched");
        println!("elastic: {blocks} data blocks for {needed} keys that are there");
        assert!(close_to_needed(blocks), "{blocks}");
    }
    {
        let options = with_bloom();
        let db = DB::open(&options, folder.path()).expect("open");
        let blocks = data_blocks(&options, &db, "switched");
        println!("stock over tables with units: {blocks}");
        assert!(!close_to_needed(blocks), "{blocks}: there is no gap to close");
    }
    {
        let (elastic, options) = (draining(), with_bloom());
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        assert!(elastic.wait_idle(IDLE_TIMEOUT));
        let before = data_blocks(&options, &db, "switched");
        let status = elastic.status(&db).expect("status");
        assert!(status.is_active && status.tables_with_units > 0, "{status:?}");
        stock::rewrite(&db);
        let after = data_blocks(&options, &db, "switched");
        println!("elastic that writes no units: {before}, and {after} when the tables are written again");
        assert!(close_to_needed(before) && close_to_needed(after), "{before}, {after}");
        assert_eq!(elastic.status(&db).expect("status").tables_with_units, 0);
    }
    let options = with_bloom();
    let db = DB::open(&options, folder.path()).expect("open");
    let blocks = data_blocks(&options, &db, "switched");
    println!("stock after that: {blocks}");
    assert!(close_to_needed(blocks), "{blocks}");
}

#[test]
fn the_way_to_elastic_filters_keeps_stock_filters_while_their_policy_is_set() {
    let folder = folder();
    let needed = u64::from(NUMBERS) / 2;
    {
        let db = DB::open(&with_bloom(), folder.path()).expect("open");
        fill_db(&db, "switched");
        stock::rewrite(&db);
    }
    for keeps_policy in [true, false] {
        let elastic = ample();
        let mut options = with_bloom();
        if !keeps_policy {
            options.set_block_based_table_factory(&BlockBasedOptions::default());
        }
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        let blocks = data_blocks(&options, &db, "switched");
        println!(
            "elastic over stock tables, with their policy {keeps_policy}: {blocks} data blocks, {needed} needed"
        );
        assert_eq!(blocks < needed + needed / 5, keeps_policy, "{blocks}");
    }
}
