//! A budget that is charged to a block cache.

use std::sync::Barrier;

use rocksdb::{BlockBasedOptions, Cache, DB, Options, WaitForCompactOptions};
use springbloom_rocksdb::{Budget, ElasticFilters, ElasticFiltersBuilder};

use crate::common::{
    build,
    contents::{check_db, fill_db, key},
    folder, installed, small_segments, small_tree, wait_until,
};

const MIB: usize = 1 << 20;

fn builder(budget_bytes: usize) -> ElasticFiltersBuilder {
    small_segments(budget_bytes as u64).warm_start_every(None)
}

fn with_cache(cache: &Cache) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(cache);
    let mut options = small_tree();
    options.set_block_based_table_factory(&table);
    options
}

/// The cache charges by entries, and some bytes for each.
fn is_about(bytes: usize, expected: usize) -> bool {
    (expected..=expected + MIB / 16 + expected / 25).contains(&bytes)
}

#[test]
fn the_block_cache_pays_for_the_budget_and_follows_it() {
    let folder = folder();
    let cache = Cache::new_lru_cache(32 * MIB);
    let elastic = builder(8 * MIB).charge_to_block_cache(true).build().expect("the settings are sound");
    assert_eq!(cache.get_pinned_usage(), 0);
    let options = installed(&elastic, &with_cache(&cache));
    assert!(is_about(cache.get_pinned_usage(), 8 * MIB), "{}", cache.get_pinned_usage());
    let db = DB::open(&options, folder.path()).expect("open");
    fill_db(&db, "charged");
    check_db(&db, "charged");
    // A compaction pins the blocks that it reads.
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
    for budget_bytes in [15 * MIB, 2 * MIB, 0, 5 * MIB] {
        elastic.set_budget_bytes(budget_bytes as u64).unwrap();
        let (usage, limit) = (cache.get_pinned_usage(), elastic.stats().budget_bytes);
        // Bookkeeping of open tables keeps a budget of nothing from being nothing.
        assert!(limit >= budget_bytes && limit <= budget_bytes + MIB, "{limit} for {budget_bytes}");
        assert!(is_about(usage, limit), "{usage} bytes for a budget of {limit}");
        assert!(cache.get_usage() <= 32 * MIB);
        check_db(&db, "charged");
    }
    drop((db, options, elastic));
    assert_eq!(cache.get_pinned_usage(), 0, "the charge goes with the filters");
}

/// A thread that looks up remembers keys, in blocks that grow with the keys.
#[test]
fn the_memory_of_each_thread_that_looks_up_is_in_the_budget() {
    const THREADS: usize = 8;
    let folder = folder();
    // A 128th of it, which threads may take, has room for all of theirs.
    let elastic = builder(32 * MIB).build().expect("the settings are sound");
    let options = installed(&elastic, &small_tree());
    let families = [("default", options.clone())];
    let db = DB::open_cf_with_opts(&options, folder.path(), families).expect("open");
    fill_db(&db, "threads");
    check_db(&db, "threads");
    let buffers = || elastic.stats().used.buffers;
    let before = buffers();
    let bytes_of_each = |look_up: &(dyn Fn() + Sync)| {
        let (looked_up, over) = (Barrier::new(THREADS + 1), Barrier::new(THREADS + 1));
        let each = std::thread::scope(|scope| {
            let run = || {
                // A thread pays again when its batch of visits is full.
                (0..400).for_each(|_| look_up());
                looked_up.wait();
                over.wait();
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
            looked_up.wait();
            let each = (buffers() - before) / THREADS;
            over.wait();
            // The end of the scope alone does not wait for what is local to the threads.
            threads.into_iter().for_each(|thread| thread.join().expect("it ends"));
            each
        });
        wait_until("the threads' bytes are given back", || buffers() == before);
        each
    };
    let absent = |bytes: usize| [&key(7)[..], &vec![b'?'; bytes]].concat();
    let (short, long, in_batches) = (absent(1), absent(4000), absent(400));
    let of_short = bytes_of_each(&|| assert_eq!(db.get(&short).expect("get"), None));
    let of_long = bytes_of_each(&|| assert_eq!(db.get(&long).expect("get"), None));
    let of_batches = bytes_of_each(&|| {
        // `multi_get` asks key by key in RocksDB 8.10.
        let family = db.cf_handle("default").expect("it was opened");
        let values = db.batched_multi_get_cf(family, vec![&in_batches; 8], true);
        assert!(values.into_iter().all(|value| value.is_ok_and(|value| value.is_none())));
    });
    println!(
        "bytes for each thread: {of_short}, with long keys {of_long}, with batches of long keys {of_batches}"
    );
    assert!(of_short < 3000);
    assert!(of_long >= of_short + 4096 - 64, "in lookup_digest.cc: a block of 4,096 bytes instead of 64");
    assert!(of_batches >= of_short + 32 * 512 - 64, "in lookup_digest.cc: 32 slots of 512 bytes");
}

/// A cache of 8 MiB has 16 shards. If one of them gets much more of the charge than its share, it is over its capacity for good, and the
/// others are full of other blocks.
#[test]
fn every_shard_of_the_block_cache_has_room_beside_the_charge() {
    let folder = folder();
    let cache = Cache::new_lru_cache(8 * MIB);
    let elastic = builder(4 * MIB).charge_to_block_cache(true).build().expect("the settings are sound");
    let options = installed(&elastic, &with_cache(&cache));
    let db = DB::open(&options, folder.path()).expect("open");
    let key = |n: u32| n.to_be_bytes();
    (0..16_000).for_each(|n| db.put(key(n), [7; 1000]).expect("put"));
    db.flush().expect("flush");
    db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
    for n in 0..16_000 {
        assert!(db.get_pinned(key(n)).expect("get").is_some());
    }
    let usage = cache.get_usage();
    assert!((8 * MIB - MIB / 2..=8 * MIB).contains(&usage), "{usage} bytes in a cache of {}", 8 * MIB);
}

/// A budget "without a limit" takes no more entries than a large one, or it would fill the machine's memory with them.
#[test]
fn the_largest_budget_is_charged_in_as_many_entries_as_others() {
    const MOST: usize = 256 << 40;
    let cache = Cache::new_lru_cache(2 * MOST);
    let elastic = builder(MOST).charge_to_block_cache(true).build().expect("the settings are sound");
    let options = installed(&elastic, &with_cache(&cache));
    assert!(is_about(cache.get_pinned_usage(), MOST), "{}", cache.get_pinned_usage());
    drop((options, elastic));
    assert_eq!(cache.get_pinned_usage(), 0);
}

/// As by default: a budget of 64 MiB and a cache of 32.
#[test]
fn half_of_the_block_cache_stays_for_blocks() {
    for cache in [Cache::new_lru_cache(32 * MIB), Cache::new_hyper_clock_cache(32 * MIB, 4096)] {
        let elastic = builder(64 * MIB).charge_to_block_cache(true).build().expect("the settings are sound");
        let options = installed(&elastic, &with_cache(&cache));
        assert_eq!(elastic.stats().budget_bytes, 16 * MIB);
        assert!(is_about(cache.get_pinned_usage(), 16 * MIB), "{}", cache.get_pinned_usage());
        assert_eq!(elastic.set_budget_bytes(1 << 30).expect("a budget"), 16 << 20);
        drop((options, elastic));
    }
}

#[test]
fn without_a_block_cache_there_is_nothing_to_charge_and_the_default_is_a_budget_of_its_own() {
    let mut table = BlockBasedOptions::default();
    table.disable_cache();
    let mut options = small_tree();
    options.set_block_based_table_factory(&table);
    let elastic = builder(MIB).charge_to_block_cache(true).build().expect("the settings are sound");
    let error = elastic.install(&mut options).expect_err("no cache");
    assert!(error.to_string().contains("block cache"), "{error}");
    let (elastic, folder) = (build(ElasticFilters::builder()), folder());
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    assert_eq!(elastic.stats().budget_bytes as u64, Budget::UNCHARGED_BYTES);
    assert_eq!(elastic.status(&db).expect("status").index_block_restart_interval, 1);
}
