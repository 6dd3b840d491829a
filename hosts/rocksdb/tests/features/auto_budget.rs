//! A budget that is chosen by measuring: the part of the block cache with which lookups read the fewest blocks.

use rand::{Rng, RngExt};
use rocksdb::{
    BlockBasedOptions, Cache, DB, Direction, IteratorMode, Options, WaitForCompactOptions, statistics::Ticker,
};
use springbloom_rocksdb::{ElasticFilters, ElasticFiltersBuilder};
use springbloom_testkit::seed::rng;

use crate::common::{Folder, IDLE_TIMEOUT, folder, installed, small_tree, wait_until};

const KEYS: u64 = 200_000;
const KIB: usize = 1 << 10;

/// Keys at even numbers are there.
fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn builder() -> ElasticFiltersBuilder {
    ElasticFilters::builder().charge_to_block_cache(true).warm_start_every(None)
}

fn auto() -> ElasticFilters {
    builder().build().expect("the settings are sound")
}

fn caches(capacity: usize) -> [Cache; 2] {
    [Cache::new_lru_cache(capacity), Cache::new_hyper_clock_cache(capacity, 4096)]
}

struct Store {
    db: DB,
    options: Options,
    elastic: ElasticFilters,
    _folder: Folder,
}

impl Store {
    /// Three levels.
    fn new(elastic: ElasticFilters, cache: &Cache) -> Self {
        let mut tables = BlockBasedOptions::default();
        tables.set_block_cache(cache);
        let mut options = small_tree();
        options.set_write_buffer_size(512 * KIB);
        options.set_target_file_size_base(512 * KIB as u64);
        options.set_max_bytes_for_level_base(KIB as u64 * KIB as u64);
        options.set_max_bytes_for_level_multiplier(5.0);
        options.set_block_based_table_factory(&tables);
        options.enable_statistics();
        let (folder, options) = (folder(), installed(&elastic, &options));
        let families = [("default", options.clone())];
        let db = DB::open_cf_with_opts(&options, folder.path(), families).expect("open");
        for number in 0..KEYS {
            // In an order that mixes them.
            db.put(key(number * 7919 % KEYS * 2), [7; 100]).expect("put");
        }
        db.flush().expect("flush");
        db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        Self { db, options, elastic, _folder: folder }
    }

    fn look_up(&self, random: &mut impl Rng, lookups: u32) {
        for _ in 0..lookups {
            let number = random.random_range(0..KEYS * 2);
            let found = self.db.get_pinned(key(number)).expect("a lookup does not fail");
            assert_eq!(found.is_some(), number % 2 == 0);
        }
    }

    fn block_reads(&self) -> u64 {
        self.elastic.stats().outcomes.block_reads
    }

    /// As RocksDB counts them.
    fn misses(&self) -> u64 {
        self.options.get_ticker_count(Ticker::BlockCacheMiss)
    }

    fn budget(&self) -> usize {
        self.elastic.stats().budget_bytes
    }
}

#[test]
fn blocks_that_lookups_read_are_counted() {
    let mut random = rng("blocks_that_lookups_read_are_counted");
    let store = Store::new(auto(), &Cache::new_lru_cache(400 * KIB));
    for in_batches in [false, true] {
        let before = (store.block_reads(), store.misses());
        if in_batches {
            let family = store.db.cf_handle("default").expect("it is there");
            for _ in 0..2000 {
                let keys: Vec<_> = (0..16).map(|_| key(random.random_range(0..KEYS * 2))).collect();
                let values = store.db.batched_multi_get_cf(family, &keys, false);
                assert!(values.into_iter().all(|value| value.is_ok()));
            }
        } else {
            store.look_up(&mut random, 20_000);
        }
        let (reads, misses) = (store.block_reads() - before.0, store.misses() - before.1);
        assert!(
            misses > 1000 && reads == misses,
            "{reads} block reads in {misses} misses; in batches: {in_batches}"
        );
    }
}

/// Two bytes of memory a key.
#[test]
fn it_reads_as_little_as_the_best_of_fixed_budgets() {
    const LOOKUPS: u32 = 100_000;
    let capacity = 2 * KEYS as usize;
    let mut random = rng("it_reads_as_little_as_the_best_of_fixed_budgets");
    for kind in 0..2 {
        let mut reads_with = |elastic: ElasticFilters, warmup: u32| {
            let store = Store::new(elastic, &caches(capacity)[kind]);
            store.look_up(&mut random, warmup);
            let before = store.misses();
            store.look_up(&mut random, LOOKUPS);
            let reads = (store.misses() - before) as f64 / f64::from(LOOKUPS);
            println!("{reads:.4} block reads per lookup with {} of {capacity} bytes", store.budget());
            reads
        };
        let fixed: Vec<f64> = [16, 4, 2]
            .map(|part| {
                builder().budget_bytes((capacity / part) as u64).build().expect("the settings are sound")
            })
            .map(|elastic| reads_with(elastic, LOOKUPS))
            .into();
        let chosen = reads_with(auto(), 7 * LOOKUPS);
        let best = fixed.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(fixed[0] > 1.1 * best, "it matters: {fixed:?}");
        // Half a percent is the noise of 50,000 reads.
        assert!(chosen < 1.04 * best, "{chosen} and {fixed:?}");
    }
}

#[test]
fn it_follows_a_cache_that_is_resized() {
    let mut random = rng("it_follows_a_cache_that_is_resized");
    for mut cache in caches(2 * KEYS as usize) {
        let store = Store::new(auto(), &cache);
        store.look_up(&mut random, 100_000);
        let before = store.budget();
        cache.set_capacity(16 * KEYS as usize);
        wait_until("more bits for each key", || {
            store.look_up(&mut random, 10_000);
            store.budget() > before / 5 * 6
        });
        cache.set_capacity(KEYS as usize / 2);
        wait_until("a part of the small cache", || {
            store.look_up(&mut random, 10_000);
            store.budget() <= KEYS as usize / 16 * 7
        });
        store.look_up(&mut random, 100_000);
        assert!(store.budget() > KEYS as usize / 16, "{}", store.budget());
    }
}

/// What iterators read is not counted: nobody knows what they lose by a smaller cache.
#[test]
fn it_leaves_the_cache_to_iterators() {
    let mut random = rng("it_leaves_the_cache_to_iterators");
    let capacity = 4 * KEYS as usize;
    let store = Store::new(auto(), &Cache::new_lru_cache(capacity));
    wait_until("lookups alone have a good part of the cache", || {
        store.look_up(&mut random, 10_000);
        store.budget() > capacity / 6
    });
    wait_until("an eighth at most", || {
        store.look_up(&mut random, 1_000);
        for _ in 0..1_000 {
            let from = key(random.random_range(0..KEYS * 2));
            let mut iterator = store.db.iterator(IteratorMode::From(&from, Direction::Forward));
            assert!(iterator.next().is_none_or(|entry| entry.is_ok()));
        }
        store.budget() <= capacity / 8
    });
    wait_until("and back", || {
        store.look_up(&mut random, 10_000);
        store.budget() > capacity / 6
    });
}

#[test]
fn a_budget_that_is_set_stays() {
    let mut random = rng("a_budget_that_is_set_stays");
    let store = Store::new(auto(), &Cache::new_lru_cache(400 * KIB));
    assert!(
        store.elastic.set_budget_bytes(1 << 40).expect("a budget") <= 200 * KIB as u64,
        "half of the cache"
    );
    assert_eq!(store.elastic.set_budget_bytes(100 * KIB as u64).expect("a budget"), 100 * KIB as u64);
    store.look_up(&mut random, 300_000);
    assert_eq!(store.budget(), 100 * KIB);
}
