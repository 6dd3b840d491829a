//! The index of new tables, where a block cache pays for the budget.

use rocksdb::{BlockBasedIndexType, BlockBasedOptions, Cache, DB, Options, WriteOptions};
use springbloom_rocksdb::{ElasticFilters, ElasticFiltersBuilder, inspect};

use crate::common::{folder, installed, log_of, stock, tables::table_paths};

const RECORDS: u32 = 20_000;

fn key(number: u32) -> String {
    format!("user{number:020}")
}

/// One table of blocks of ten records, with the index in the block cache or not.
fn options(cache: &Cache, change: impl FnOnce(&mut BlockBasedOptions)) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    change(&mut table);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_prefix_extractor(rocksdb::SliceTransform::create_fixed_prefix(4));
    options.set_block_based_table_factory(&table);
    options
}

fn fill(db: &DB) {
    let mut write = WriteOptions::default();
    write.disable_wal(true);
    for number in 0..RECORDS {
        db.put_opt(key(number), [7; 400], &write).expect("put");
    }
    db.flush().expect("flush");
}

fn check(db: &DB) {
    for number in (0..RECORDS).step_by(7) {
        assert!(db.get_pinned(key(number)).expect("get").is_some(), "{number}");
        assert!(db.get_pinned(key(number) + "x").expect("get").is_none(), "{number}");
    }
    assert_eq!(db.iterator(rocksdb::IteratorMode::Start).count(), RECORDS as usize);
}

/// What the index of a new database's tables takes, and whether it is partitioned.
#[derive(Debug, PartialEq, Eq)]
struct Index {
    bytes: u64,
    is_partitioned: bool,
}

fn index_of(db: &DB) -> Index {
    let summaries = table_paths(db.path()).into_iter().map(|path| inspect::summary(&path).expect("a table"));
    let properties = db.property_value("rocksdb.aggregated-table-properties").expect("properties");
    Index {
        bytes: summaries.map(|summary| summary.index_bytes).sum(),
        is_partitioned: properties.expect("there are tables").contains("# index partitions"),
    }
}

fn index_with(options: &Options) -> Index {
    let folder = folder();
    let db = DB::open(options, folder.path()).expect("open");
    fill(&db);
    check(&db);
    index_of(&db)
}

fn builder() -> ElasticFiltersBuilder {
    ElasticFilters::builder().budget_bytes(1 << 20).charge_to_block_cache(true)
}

fn build(builder: ElasticFiltersBuilder) -> ElasticFilters {
    builder.build().expect("the settings are sound")
}

#[test]
fn an_index_is_small_where_a_cache_pays_for_the_budget() {
    let cache = Cache::new_lru_cache(8 << 20);
    let whole = options(&cache, |_| ());
    let partitioned = options(&cache, |table| {
        table.set_cache_index_and_filter_blocks(true);
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    });
    let stock = index_with(&whole);
    assert!(!stock.is_partitioned, "{stock:?}");
    let small = index_with(&installed(&build(builder()), &whole));
    assert!(small.bytes * 2 < stock.bytes && !small.is_partitioned, "{small:?} and {stock:?}");
    let parts = index_with(&partitioned);
    let small_parts = index_with(&installed(&build(builder()), &partitioned));
    assert!(
        small_parts.bytes * 2 < parts.bytes && small_parts.is_partitioned,
        "{small_parts:?} and {parts:?}"
    );
    let auto = index_with(&installed(&build(builder().budget_auto()), &whole));
    assert_eq!(auto, small);
    // Where no cache pays, and where the program wants stock's, the index is stock's.
    for stocks in [
        builder().charge_to_block_cache(false),
        builder().small_index(false),
        builder().create_filters(false),
    ] {
        assert_eq!(index_with(&installed(&build(stocks), &whole)), stock);
    }
}

#[test]
fn options_that_the_program_set_stay() {
    let cache = Cache::new_lru_cache(8 << 20);
    let changes: [fn(&mut BlockBasedOptions); 3] = [
        |table| table.set_index_block_restart_interval(4),
        |table| {
            table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
            table.set_index_block_restart_interval(2);
        },
        // Its restart interval can only be 1.
        |table| table.set_index_type(BlockBasedIndexType::HashSearch),
    ];
    for change in changes {
        let options = options(&cache, change);
        assert_eq!(index_with(&installed(&build(builder()), &options)), index_with(&options));
    }
}

#[test]
fn the_log_says_whether_the_budget_holds_indexes() {
    for are_cached in [false, true] {
        let (cache, folder) = (Cache::new_lru_cache(8 << 20), folder());
        let options = options(&cache, |table| table.set_cache_index_and_filter_blocks(are_cached));
        let elastic = build(ElasticFilters::builder().budget_auto());
        drop(DB::open(&installed(&elastic, &options), folder.path()).expect("open"));
        let line = format!("springbloom.budget_holds_indexes: {}", u8::from(are_cached));
        assert!(log_of(folder.path()).contains(&line), "{line}");
    }
}

#[test]
fn tables_keep_their_index_until_they_are_rewritten() {
    let (cache, folder) = (Cache::new_lru_cache(8 << 20), folder());
    let options = options(&cache, |table| table.set_cache_index_and_filter_blocks(true));
    let stocks = {
        let db = DB::open(&options, folder.path()).expect("open");
        fill(&db);
        index_of(&db)
    };
    let elastic = build(builder());
    let mut db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    check(&db);
    assert_eq!(index_of(&db), stocks);
    assert_eq!(elastic.status(&db).expect("status").index_block_restart_interval, 16);
    assert!(log_of(folder.path()).contains("springbloom.index_block_restart_interval_of_new_tables: 16"));
    stock::rewrite(&db);
    check(&db);
    let small = index_of(&db);
    assert!(small.bytes * 2 < stocks.bytes, "{small:?} and {stocks:?}");
    // Stock RocksDB reads it, and writes its own again.
    drop(db);
    db = DB::open(&options, folder.path()).expect("open");
    check(&db);
    stock::rewrite(&db);
    check(&db);
    assert_eq!(index_of(&db), stocks);
}

/// Bytes of data in a block, on average.
fn block_bytes(db: &DB) -> u64 {
    let summaries = table_paths(db.path()).into_iter().map(|path| inspect::summary(&path).expect("a table"));
    let (bytes, blocks) = summaries
        .fold((0, 0), |(bytes, blocks), summary| (bytes + summary.raw_bytes, blocks + summary.data_blocks));
    bytes / blocks
}

/// KiB of a block of tables that are rewritten once the database is there, and whether the log says that new ones have large blocks.
fn rewritten_blocks(
    cache: &Cache,
    change: fn(&mut BlockBasedOptions),
    elastic: ElasticFiltersBuilder,
) -> (u64, bool) {
    let (folder, options) = (folder(), options(cache, change));
    let db = DB::open(&installed(&build(elastic), &options), folder.path()).expect("open");
    fill(&db);
    stock::rewrite(&db);
    check(&db);
    let bytes = block_bytes(&db);
    // The log is told before the database is closed.
    drop(db);
    ((bytes + 512) >> 10, log_of(folder.path()).contains("new tables get large blocks"))
}

#[test]
fn blocks_are_large_where_the_cache_is_small() {
    // For 8 MB of data: 2,000 blocks of 4 KiB.
    let (small, ample) = (Cache::new_lru_cache(16 << 10), Cache::new_lru_cache(24 << 10));
    let auto = || ElasticFilters::builder().budget_auto();
    assert_eq!(rewritten_blocks(&small, |_| (), auto()), (16, true));
    assert_eq!(rewritten_blocks(&small, |_| (), builder()), (16, true));
    assert_eq!(rewritten_blocks(&ample, |_| (), auto()), (4, false));
    // What the program set stays, and stock's where it wants that.
    assert_eq!(rewritten_blocks(&small, |table| table.set_block_size(8 << 10), auto()), (8, true));
    assert_eq!(rewritten_blocks(&small, |_| (), auto().small_index(false)), (4, false));
}
