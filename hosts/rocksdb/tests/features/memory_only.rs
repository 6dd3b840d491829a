//! Lookups that may read memory alone, such as `KeyMayExist`, teach which units are wanted.

use rocksdb::{BlockBasedOptions, DB, ReadOptions, ReadTier};
use springbloom_rocksdb::ElasticFilters;

use crate::common::{IDLE_TIMEOUT, folder, installed, small_tree};

const KEYS: u32 = 60_000;
/// Absent keys of this part of the key range are looked up.
const HOT: std::ops::Range<u32> = 20_000..26_000;
/// Enough for two units everywhere, or for most units of that part.
const BUDGET_BYTES: u64 = 20_000;

fn key(number: u32) -> String {
    format!("{number:08}")
}

/// Share of absent keys in the hot range that may exist, by what is in memory, after lookups of others by `look_up`.
fn share_that_may_exist(look_up: impl Fn(&DB, &str)) -> f64 {
    let folder = folder();
    let elastic = ElasticFilters::builder()
        .budget_bytes(BUDGET_BYTES)
        .segment_data_bytes(128 << 10)
        .build()
        .expect("the settings are sound");
    let mut options = small_tree();
    options.set_write_buffer_size(64 << 20);
    options.set_target_file_size_base(1 << 20);
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    options.set_block_based_table_factory(&table);
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    for number in 0..KEYS {
        db.put(key(number), [b'v'; 100]).expect("put");
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    for round in 0..20 {
        HOT.for_each(|number| look_up(&db, &format!("{}-{round}", key(number))));
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
    }
    let may_exist = HOT.filter(|&number| db.key_may_exist(format!("{}-last", key(number)))).count();
    let found = HOT.filter(|&number| db.key_may_exist(key(number))).count();
    assert_eq!(found, HOT.len(), "no false negative");
    may_exist as f64 / HOT.len() as f64
}

#[test]
fn they_bring_units_as_reads_do() {
    // Before the first lookup, bytes that its buffers will take are free for units everywhere.
    let untaught = share_that_may_exist(|db, key| {
        let number: u32 = key[..8].parse().expect("a key begins with its number");
        assert_eq!(db.get(format!("{}{}", self::key(number + KEYS / 2), &key[8..])), Ok(None));
    });
    let by_reads = share_that_may_exist(|db, key| assert_eq!(db.get(key), Ok(None)));
    let by_key_may_exist = share_that_may_exist(|db, key| {
        let _ = db.key_may_exist(key);
    });
    let by_memory_only_reads = share_that_may_exist(|db, key| {
        let mut memory_only = ReadOptions::default();
        memory_only.set_read_tier(ReadTier::BlockCache);
        let _ = db.get_opt(key, &memory_only);
    });
    let shares = [untaught, by_reads, by_key_may_exist, by_memory_only_reads];
    for taught in [by_reads, by_key_may_exist, by_memory_only_reads] {
        assert!(taught < untaught / 4.0, "{shares:?}");
    }
}
