//! Lookups that may read memory alone, such as `KeyMayExist`, teach which units are wanted.

use rocksdb::{BlockBasedOptions, DB, ReadOptions, ReadTier};

use crate::common::{IDLE_TIMEOUT, build, folder, installed, small_segments, small_tree};

const KEYS: u32 = 60_000;
/// Absent keys of this part of the key range are looked up.
const HOT: std::ops::Range<u32> = 20_000..26_000;
/// Enough for two units everywhere, or for most units of that part.
const BUDGET_BYTES: u64 = 20_000;

fn key(number: u32) -> String {
    format!("{number:08}")
}

/// Lookups by `look_up` bring units, so that three of four absent keys of the hot range that may exist, by what is in memory, no longer do.
fn bring_units(what: &str, look_up: impl Fn(&DB, &str)) {
    let folder = folder();
    let elastic = build(small_segments(BUDGET_BYTES).segment_size(128 << 10));
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
    // By what a further visit to each ends with.
    let passed = |round: u32| {
        let outcomes = || elastic.stats().outcomes;
        let before = outcomes();
        HOT.for_each(|number| look_up(&db, &format!("{}-{round}", key(number))));
        let (rejected, visits) =
            (outcomes().rejected - before.rejected, outcomes().visits() - before.visits());
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        visits - rejected
    };
    assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
    let untaught = passed(0);
    assert!(untaught * 40 > HOT.len() as u64, "{what}: only {untaught} visits passed, or were not noted");
    let shares: Vec<_> = (1..100).map(passed).take_while(|passed| passed * 4 > untaught).collect();
    assert!(shares.len() < 99, "{what}: {untaught} lookups passed at first, and then {shares:?}");
    let found = HOT.filter(|&number| db.key_may_exist(key(number))).count();
    assert_eq!(found, HOT.len(), "no false negative");
}

#[test]
fn reads_that_may_not_touch_the_disk_bring_units_as_others_do() {
    bring_units("Get", |db, key| assert_eq!(db.get(key), Ok(None)));
    bring_units("KeyMayExist", |db, key| {
        let _ = db.key_may_exist(key);
    });
    bring_units("Get of what is cached", |db, key| {
        let mut memory_only = ReadOptions::default();
        memory_only.set_read_tier(ReadTier::BlockCache);
        let _ = db.get_opt(key, &memory_only);
    });
}
