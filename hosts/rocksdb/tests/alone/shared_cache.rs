//! A budget that is charged to a block cache with a strict limit, together with memtables and index blocks, while the cache is resized:
//! nothing fails that would not fail with stock filters.

use std::{
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use rand::RngExt;
use rocksdb::{DB, IteratorMode, Options, WriteOptions};
use springbloom_rocksdb::ElasticFilters;
use springbloom_testkit::seed::rng;

use crate::common::{
    Folder, IDLE_TIMEOUT, ONE_AT_A_TIME, build,
    contents::{NUMBERS, check_db, fill, fill_db, is_present, key},
    faults::SharedCache,
    folder, installed, merge_by_append, number, small_segments, small_tree, wait_until,
};

const MIB: usize = 1 << 20;

fn charged(budget_bytes: usize) -> ElasticFilters {
    let builder = small_segments(budget_bytes as u64).charge_to_block_cache(true);
    build(builder.warm_start_every(None))
}

fn check_iterator(db: &DB) {
    let entries: Result<Vec<_>, _> = db.iterator(IteratorMode::Start).collect();
    let present = (0..NUMBERS).filter(|&number| is_present(number)).count();
    assert_eq!(entries.expect("an iterator reads on").len(), present);
}

/// `SPRINGBLOOM_RESIZES` asks for more.
fn resizes(default: u32) -> u32 {
    number("SPRINGBLOOM_RESIZES", default)
}

#[test]
fn a_cache_is_resized_under_load() {
    let elastic = charged(16 * MIB);
    resize_under_load("a_cache_is_resized_under_load", &elastic, 4, resizes(2_000), |cache| {
        wait_until("the whole budget is back", || elastic.stats().budget_bytes == 16 * MIB);
        assert!(cache.pinned() >= 16 * MIB, "{} bytes are charged", cache.pinned());
    });
}

#[test]
fn a_cache_is_resized_while_the_budget_is_measured() {
    let builder = small_segments(0).budget_auto().charge_to_block_cache(true);
    let elastic = build(builder.warm_start_every(None));
    resize_under_load(
        "a_cache_is_resized_while_the_budget_is_measured",
        &elastic,
        7,
        resizes(500),
        |cache| {
            wait_until("there is a budget again", || elastic.stats().budget_bytes > 0);
            assert!(cache.pinned() >= elastic.stats().budget_bytes, "{} bytes are charged", cache.pinned());
        },
    );
}

/// Looks keys up in this many threads while `run` runs. How often.
fn beside_readers(db: &DB, readers: u32, run: impl FnOnce()) -> u64 {
    let (is_over, lookups) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for reader in 0..readers {
            let (is_over, lookups) = (&is_over, &lookups);
            scope.spawn(move || {
                let mut number = reader;
                while !is_over.load(Ordering::Relaxed) {
                    number = (number + 7919) % NUMBERS;
                    let found = db.get_pinned(key(number)).expect("a lookup does not fail");
                    assert_eq!(found.is_some(), is_present(number));
                    lookups.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        run();
        is_over.store(true, Ordering::Relaxed);
    });
    lookups.into_inner()
}

/// The budget is never more than this many `eighths` of the cache. `check_back`: when the cache is large again.
fn resize_under_load(
    test: &str,
    elastic: &ElasticFilters,
    eighths: usize,
    resizes: u32,
    check_back: impl FnOnce(&SharedCache),
) {
    let _one = ONE_AT_A_TIME.lock();
    let mut random = rng(test);
    let folder = folder();
    let mut options = small_tree();
    let cache = SharedCache::strict(&mut options, 32 * MIB, SharedCache::ANY_SHARDS, 0);
    let db = DB::open(&installed(elastic, &options), folder.path()).expect("open");
    fill_db(&db, "resized");
    let lookups = beside_readers(&db, 2, || {
        let (mut most, mut was_short) = (0, 0);
        for _ in 0..resizes {
            let capacity = random.random_range(2 * MIB..64 * MIB);
            cache.set_capacity(capacity);
            thread::sleep(Duration::from_micros(random.random_range(0..1000)));
            // Filters in use and their charge are under what half of the cache allows, but for the moment in which they follow.
            let begun = Instant::now();
            while cache.usage() > capacity || elastic.stats().budget_bytes > capacity / 8 * eighths {
                was_short += 1;
                assert!(begun.elapsed() < Duration::from_secs(60), "{:?} in {capacity}", elastic.stats());
                thread::yield_now();
            }
            most = most.max(elastic.stats().used_bytes);
        }
        println!("{most} bytes in use at most; looked {was_short} times while the budget followed");
    });
    println!("{lookups} lookups");
    cache.set_capacity(64 * MIB);
    check_back(&cache);
    check_db(&db, "resized");
    check_iterator(&db);
}

/// A charge that comes back is gone again when the capacity falls at once, though nobody looked at the cache meanwhile.
#[test]
fn a_budget_and_a_cache_change_under_readers() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), charged(16 * MIB));
    let mut options = small_tree();
    let cache = SharedCache::strict(&mut options, 32 * MIB, 0, 0);
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    fill_db(&db, "changed");
    beside_readers(&db, 4, || {
        for _ in 0..150 {
            elastic.set_budget_bytes(0).expect("a budget");
            elastic.set_budget_bytes(16 * MIB as u64).expect("a budget");
            cache.set_capacity(2 * MIB);
            thread::yield_now();
            cache.set_capacity(32 * MIB);
        }
    });
    check_db(&db, "changed");
}

#[test]
fn iterators_find_room_after_a_budget_and_a_cache_changed() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), charged(16 * MIB));
    let mut options = small_tree();
    let cache = SharedCache::strict(&mut options, 32 * MIB, 0, 0);
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    fill_db(&db, "changed");
    for _ in 0..60 {
        cache.set_capacity(32 * MIB);
        elastic.set_budget_bytes(0).expect("a budget");
        elastic.set_budget_bytes(16 * MIB as u64).expect("a budget");
        cache.set_capacity(2 * MIB);
        check_iterator(&db);
    }
}

/// It evicts while it holds a mutex that the end of a charge takes.
#[test]
fn a_tiered_cache_is_resized_under_load() {
    resize_tiered(false);
}

/// Of such a cache nobody can tell that it is one.
#[test]
fn a_tiered_cache_in_a_programs_own_is_resized_under_load() {
    resize_tiered(true);
}

fn resize_tiered(is_wrapped: bool) {
    let _one = ONE_AT_A_TIME.lock();
    in_time(move || {
        let (folder, elastic) = (folder(), charged(16 * MIB));
        let mut options = small_tree();
        let cache = SharedCache::tiered(&mut options, 64 * MIB, is_wrapped);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        fill_db(&db, "tiered");
        for round in 0..4 {
            wait_until("the whole budget is back", || elastic.stats().budget_bytes == 16 * MIB);
            for number in 0..NUMBERS / 10 {
                db.get_pinned(key(number * 10 + round % 10)).expect("a lookup does not fail");
            }
            cache.set_capacity(4 * MIB);
            check_iterator(&db);
            wait_until("the budget falls", || elastic.stats().budget_bytes <= 2 * MIB);
            // The charge falls after the budget.
            wait_until("the charge falls", || cache.pinned() < 4 * MIB);
            cache.set_capacity(64 * MIB);
        }
        check_db(&db, "tiered");
    });
}

/// It may walk over all its entries for that.
#[test]
fn tables_are_opened_without_asking_a_cache_what_is_pinned() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), charged(4 * MIB));
    let mut options = small_tree();
    let _cache = SharedCache::tiered(&mut options, 64 * MIB, true);
    let options = installed(&elastic, &options);
    fill_db(&DB::open(&options, folder.path()).expect("open"), "opened");
    let before = SharedCache::pinned_asked();
    assert!(before > 0, "a new cache is asked once");
    let db = DB::open(&options, folder.path()).expect("open");
    assert!(db.live_files().expect("files").len() > 2);
    check_db(&db, "opened");
    fill_db(&db, "opened again");
    assert_eq!(SharedCache::pinned_asked(), before);
}

struct Store {
    cache: SharedCache,
    db: DB,
    _folder: Folder,
}

impl Store {
    fn with_a_cache_of(capacity: usize, elastic: &ElasticFilters) -> Self {
        let (folder, mut options) = (folder(), small_tree());
        let cache = SharedCache::strict(&mut options, capacity, SharedCache::ANY_SHARDS, 0);
        let db = DB::open(&installed(elastic, &options), folder.path()).expect("open");
        fill_db(&db, "stored");
        Self { cache, db, _folder: folder }
    }

    fn close(self) -> SharedCache {
        self.cache
    }
}

/// apache/kafka#22378, facebook/rocksdb#10324
#[test]
fn a_cache_goes_with_the_last_database_and_options_that_use_it() {
    let _one = ONE_AT_A_TIME.lock();
    let auto = ElasticFilters::builder().budget_auto().charge_to_block_cache(true).warm_start_every(None);
    for elastic in [charged(4 * MIB), build(auto)] {
        for _ in 0..3 {
            let store = Store::with_a_cache_of(16 * MIB, &elastic);
            let cache = &store.cache;
            wait_until("the budget is charged", || {
                let budget_bytes = elastic.stats().budget_bytes;
                budget_bytes > 0 && cache.pinned() >= budget_bytes
            });
            cache.set_capacity(64 << 10);
            wait_until("the budget follows", || elastic.stats().budget_bytes <= 56 << 10);
            cache.set_capacity(16 * MIB);
            check_db(&store.db, "stored");
            let cache = store.close();
            assert!(!cache.is_in_use(), "it goes with them");
            assert_eq!(cache.pinned(), 0);
        }
    }
}

#[test]
fn several_caches_pay_together() {
    let _one = ONE_AT_A_TIME.lock();
    let elastic = charged(8 * MIB);
    let [first, second] = [0; 2].map(|_| Store::with_a_cache_of(32 * MIB, &elastic));
    let pay = |payments: [(&Store, usize); 2]| {
        wait_until(&format!("they pay {:?} MiB", payments.map(|(_, mib)| mib)), || {
            let pays = |(store, mib): &(&Store, usize)| store.cache.pinned().abs_diff(mib * MIB) < MIB / 2;
            payments.iter().all(pays) && elastic.stats().budget_bytes == 8 * MIB
        });
    };
    pay([(&first, 4), (&second, 4)]);
    first.cache.set_capacity(4 * MIB);
    pay([(&first, 2), (&second, 6)]);
    first.cache.set_capacity(32 * MIB);
    check_db(&first.db, "stored");
    assert!(!first.close().is_in_use());
    wait_until("the other one pays all", || second.cache.pinned() >= 8 * MIB);
    assert_eq!(elastic.stats().budget_bytes, 8 * MIB);
    check_db(&second.db, "stored");
}

/// Ends the process if `run` hangs: what holds locks cannot be ended alone.
fn in_time(run: impl FnOnce() + Send + 'static) {
    let (ended, is_over) = mpsc::channel();
    let thread = thread::spawn(move || {
        run();
        _ = ended.send(());
    });
    if is_over.recv_timeout(Duration::from_secs(180)) == Err(RecvTimeoutError::Timeout) {
        eprintln!("a test hangs");
        std::process::abort();
    }
    thread.join().expect("it passes");
}

/// facebook/rocksdb#6247: memtables in the same cache, which flushes find full.
#[test]
fn filters_give_way_to_memtables() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, elastic) = (folder(), charged(4 * MIB));
    let mut options = small_tree();
    options.set_write_buffer_size(16 * MIB);
    options.set_target_file_size_base(4 << 20);
    let cache = SharedCache::strict(&mut options, 8 * MIB, SharedCache::ANY_SHARDS, 4 * MIB);
    let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
    let mut write = WriteOptions::default();
    write.disable_wal(true);
    let key = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    for n in 0..600_000 {
        db.put_opt(key(n), [b'v'; 80], &write).expect("no put fails");
    }
    for n in (0..600_000).step_by(97) {
        assert!(db.get_pinned(key(n)).expect("no lookup fails").is_some());
    }
    assert!(cache.usage() <= 8 * MIB);
}

/// Refused gets, keys of batches and steps of iterators, of which many are open at times and pin blocks.
fn refused(db: &DB, seed: &str, before_more: impl Fn()) -> [u64; 3] {
    const OPEN: usize = 30;
    let mut random = rng(seed);
    let mut refused = [0; 3];
    let mut count = |of: usize, result: Result<(), rocksdb::Error>| {
        if let Err(error) = result {
            assert!(error.to_string().contains("Memory limit"), "{error}");
            refused[of] += 1;
        }
    };
    for _ in 0..10 {
        let mut iterators: Vec<_> = (0..OPEN).map(|_| db.raw_iterator()).collect();
        for _ in 0..1_000 {
            count(0, db.get_pinned(key(random.random_range(0..MANY))).map(drop));
            if random.random_ratio(1, 4) {
                let keys: Vec<_> = (0..32).map(|_| key(random.random_range(0..MANY))).collect();
                let batch =
                    db.batched_multi_get_cf(db.cf_handle("default").expect("it is there"), &keys, false);
                batch.into_iter().for_each(|found| count(1, found.map(drop)));
            }
            let iterator = &mut iterators[random.random_range(0..OPEN)];
            if iterator.valid() && random.random_ratio(15, 16) {
                iterator.next();
            } else {
                iterator.seek(key(random.random_range(0..MANY)));
            }
            count(2, iterator.status());
        }
        drop(iterators);
        before_more();
    }
    refused
}

const MANY: u32 = 40_000;

/// Whatever reads: also lookups that have found an operand of a merge, and steps of iterators.
#[test]
fn a_small_strict_cache_refuses_nothing_for_the_filters() {
    let _one = ONE_AT_A_TIME.lock();
    let elastic = charged(MIB);
    let refused = |elastic: Option<&ElasticFilters>| {
        let (folder, mut options) = (folder(), small_tree());
        merge_by_append(&mut options);
        let cache = SharedCache::strict(&mut options, MIB, SharedCache::ANY_SHARDS, 0);
        let options = elastic.map_or_else(|| options.clone(), |elastic| installed(elastic, &options));
        let default = [("default", options.clone())];
        let db = DB::open_cf_with_opts(&options, folder.path(), default).expect("open");
        fill(MANY, |key, value| db.put(key, value.repeat(8)).expect("put"), "strict");
        (0..MANY).step_by(6).for_each(|number| db.merge(key(number), b"more").expect("merge"));
        db.flush().expect("flush");
        let refused = refused(&db, "a_small_strict_cache_refuses_nothing_for_the_filters", || {
            wait_until("the budget is back", || {
                elastic.is_none_or(|elastic| elastic.stats().budget_bytes > MIB / 2 - MIB / 16)
            });
        });
        println!("{refused:?} refused, {} of {MIB} bytes pinned without iterators", cache.pinned());
        refused
    };
    let (stock, ours) = (refused(None), refused(Some(&elastic)));
    assert!(ours == [0; 3] || stock != [0; 3], "refused for the filters alone: {ours:?}");
}

/// Refused and all lookups while the capacity of a cache moves between 4 and 8 MiB.
fn lookups_refused(db: &DB, cache: &SharedCache, key: fn(u64) -> [u8; 8], keys: u64) -> (u64, u64) {
    let (is_over, refused, all) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for reader in 0..3 {
            let (is_over, refused, all) = (&is_over, &refused, &all);
            scope.spawn(move || {
                let mut n = reader;
                while !is_over.load(Ordering::Relaxed) {
                    n = (n + 23_757) % keys;
                    all.fetch_add(1, Ordering::Relaxed);
                    match db.get_pinned(key(n)) {
                        Ok(found) => assert_eq!(found.is_some(), n % 2 == 0),
                        Err(error) if error.to_string().contains("Memory limit") => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        for _ in 0..50 {
            for capacity in [4 * MIB, 8 * MIB] {
                cache.set_capacity(capacity);
                thread::sleep(Duration::from_millis(10));
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    (refused.into_inner(), all.into_inner())
}

/// Memtables fill whole shards of a small cache, which then refuse blocks even while nothing is charged. Filters that went for that would
/// let absent keys be read, and more lookups would fail.
#[test]
fn filters_stay_where_giving_way_does_not_help() {
    const KEYS: u64 = 200_000;
    fn key(n: u64) -> [u8; 8] {
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
    }
    let _one = ONE_AT_A_TIME.lock();
    let elastic = charged(0);
    let mut options = small_tree();
    options.set_target_file_size_base(2 << 20);
    options.set_max_bytes_for_level_base(4 << 20);
    // It is chance how many shards the memtables fill, and which tables have blocks there.
    let cache = SharedCache::strict(&mut options, 64 * MIB, SharedCache::ANY_SHARDS, 16 * MIB);
    let open = |options: &Options| {
        let folder = folder();
        let db = DB::open(options, folder.path()).expect("open");
        let put = |n| db.put(key(n), [b'v'; 200]).expect("put");
        (0..KEYS).step_by(2).for_each(put);
        db.flush().expect("flush");
        // This much stays in a memtable.
        db.set_options(&[("write_buffer_size", "16777216")]).expect("an option");
        (0..KEYS).step_by(2).take(1500).for_each(put);
        (folder, db)
    };
    let (stock, with_units) = (open(&options), open(&installed(&elastic, &options)));
    let (mut shares, mut resident) = ([0.0; 2], Vec::new());
    for _ in 0..3 {
        for (share, (_, db), budget_bytes) in [(0, &stock, 0), (1, &with_units, 16 << 20)] {
            elastic.set_budget_bytes(budget_bytes).expect("a budget");
            elastic.wait_idle(IDLE_TIMEOUT); // units are loaded as far as they find room
            let (refused, all) = lookups_refused(db, &cache, key, KEYS);
            shares[share] += refused as f64 / all as f64 / 3.0;
        }
        resident.push(elastic.stats().used.units);
    }
    println!("refused with stock filters and with ours: {shares:.4?}; bytes of units: {resident:?}");
    assert!(shares[1] > 0.0, "it was to refuse some");
    let most = resident.iter().max().expect("three");
    assert!(*most > 0 && resident.iter().all(|bytes| bytes * 10 >= most * 9), "{resident:?}");
}
