//! The cache that partitioned stock filters are compared in.

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, DB, DBCompressionType, Options, ReadOptions,
    WaitForCompactOptions,
};
use springbloom_baselines::filter_cache;

const KEYS: u32 = 40_000;
const CAPACITY_BYTES: u64 = 16 << 10;

fn key(i: u32) -> [u8; 8] {
    u64::from(i.reverse_bits()).to_be_bytes()
}

#[test]
fn filters_stay_within_the_capacity_and_answers_are_right() {
    let folder = tempfile::tempdir().expect("folder");
    let mut tables = BlockBasedOptions::default();
    tables.set_bloom_filter(10.0, false);
    tables.set_partition_filters(true);
    tables.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
    tables.set_metadata_block_size(1024);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_compression_type(DBCompressionType::None);
    options.set_block_based_table_factory(&tables);
    filter_cache(&mut options, CAPACITY_BYTES).expect("block-based options");
    let db = DB::open(&options, folder.path()).expect("open");
    for i in 0..KEYS {
        db.put(key(i), i.to_le_bytes()).expect("put");
    }
    db.flush().expect("flush");
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("settle");
    let usage = || db.property_int_value("rocksdb.block-cache-usage").expect("property").expect("a cache");
    // 50 KB of filters in 16 KiB: every lookup may evict, and the one in use is on top.
    let limit_bytes = CAPACITY_BYTES + 4096;
    let mut most_bytes = 0;
    for i in 0..KEYS {
        assert_eq!(db.get(key(i)).expect("get").as_deref(), Some(&i.to_le_bytes()[..]), "{i}");
        assert_eq!(db.get(key(i + KEYS)).expect("get"), None, "{i}");
        most_bytes = most_bytes.max(usage());
    }
    assert!((1024..=limit_bytes).contains(&most_bytes), "{most_bytes}");
    // Index and data blocks pass through scans, too.
    let mut verified = ReadOptions::default();
    verified.set_verify_checksums(true);
    assert_eq!(db.iterator_opt(rocksdb::IteratorMode::Start, verified).count(), KEYS as usize);
    assert!(usage() <= limit_bytes);
}

#[test]
fn other_table_formats_are_refused() {
    let mut options = Options::default();
    options.set_plain_table_factory(&rocksdb::PlainTableFactoryOptions {
        user_key_length: 8,
        bloom_bits_per_key: 0,
        hash_table_ratio: 0.0,
        index_sparseness: 1,
        huge_page_tlb_size: 0,
        encoding_type: rocksdb::KeyEncodingType::Plain,
        full_scan_mode: true,
        store_index_in_file: false,
    });
    assert!(filter_cache(&mut options, CAPACITY_BYTES).is_err());
}
