//! Many databases in one process, one of which is busy: what closing and saving the others takes.
//!
//! `SPRINGBLOOM_STORES` sets their number (default 30), `SPRINGBLOOM_ROUNDS` how often they are closed (default 3).

use std::{
    collections::BTreeSet,
    fs::File,
    hint::black_box,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant, UNIX_EPOCH},
};

use parking_lot::Mutex;
use rocksdb::{BlockBasedOptions, DB, Options, WriteOptions};
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME};

use crate::common::{IDLE_TIMEOUT, ONE_AT_A_TIME, contents, folder, installed, median, number, wait_until};

const STORES: usize = 30;
const TABLES: u32 = 4;
const TABLE_KEYS: u32 = 50;
/// Threads that close stores.
const CLOSERS: usize = 4;
/// Closing takes no longer than this many times that of stock stores. It takes about as long; waiting for the busy store takes ten times.
const TIMES_MAX: f64 = 2.5;
const BUDGET_BYTES: u64 = 64 << 20;

fn store_count() -> usize {
    number("SPRINGBLOOM_STORES", STORES)
}

fn stock() -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_disable_auto_compactions(true);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    let mut tables = BlockBasedOptions::default();
    tables.set_bloom_filter(10.0, false);
    options.set_block_based_table_factory(&tables);
    options
}

fn elastic(warm_start_every: Duration) -> ElasticFilters {
    ElasticFilters::builder()
        .budget_bytes(BUDGET_BYTES)
        .warm_start_every(Some(warm_start_every))
        .build()
        .expect("the settings are sound")
}

fn open(options: &Options, folder: &Path, name: impl std::fmt::Display) -> DB {
    DB::open(options, folder.join(name.to_string())).expect("open")
}

/// Opens stores that have tables from then on.
fn fill_stores(options: &Options, folder: &Path, count: usize) -> Vec<DB> {
    let stores: Vec<_> = (0..count).map(|store| open(options, folder, store)).collect();
    for store in &stores {
        for table in 0..TABLES {
            for key in 0..TABLE_KEYS {
                store.put(contents::key((key * TABLES + table) * 2), "value").expect("put");
            }
            store.flush().expect("flush");
        }
    }
    stores
}

/// Looks absent keys up.
fn look_up(store: &DB) {
    for number in 0..TABLES * TABLE_KEYS {
        assert!(store.get_pinned(contents::key(number * 2 + 1)).expect("get").is_none());
    }
}

/// Runs `run` while a thread looks up in the stores. It is one, so that a core of two is left: else the scheduler's slices of 4 ms would be
/// what is measured.
fn beside_lookups<T>(stores: &[DB], run: impl FnOnce() -> T) -> T {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                stores.iter().for_each(look_up);
            }
        });
        let _stop = Stop(&is_over);
        run()
    })
}

/// Stores with stock filters and with elastic ones.
type Both<T> = [T; 2];

/// Closes stores of both kinds in turn, one after the other in each of this many threads: the machine is as fast for one as for the other.
/// How long those of each kind took.
fn close(stores: Both<Vec<DB>>, threads: usize) -> Both<Duration> {
    let [stock, elastic] = stores.map(Vec::into_iter);
    let stores = Mutex::new(stock.zip(elastic).flat_map(|(stock, elastic)| [(0, stock), (1, elastic)]));
    let took = Mutex::new(Both::default());
    let close_some = || {
        while let Some((kind, store)) = { stores.lock().next() } {
            let begun = Instant::now();
            drop(store);
            // glibc sorts what was freed when memory is next allocated: each kind pays for itself, and not for the other.
            drop(black_box(Vec::<u8>::with_capacity(4096)));
            let elapsed = begun.elapsed();
            took.lock()[kind] += elapsed;
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(close_some))));
    took.into_inner()
}

/// What was done with a store a moment before it is closed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Use {
    Idle,
    LookedUp,
    /// Looked up, and written to without a log, as Kafka Streams does: closing flushes.
    Written,
}

impl Use {
    fn of(self, store: &DB) {
        if self != Self::Idle {
            look_up(store);
        }
        if self == Self::Written {
            let mut options = WriteOptions::default();
            options.disable_wal(true);
            (0..TABLE_KEYS)
                .for_each(|key| store.put_opt(contents::key(key * 2), "new", &options).expect("put"));
        }
    }
}

/// Closes all stores but a busy one of each kind.
fn closing(kinds: Both<(&Options, &Path)>, before: Use, threads: usize) -> Both<Duration> {
    let open_all = |(options, folder)| (0..store_count()).map(|store| open(options, folder, store)).collect();
    let mut stores: Both<Vec<DB>> = kinds.map(open_all);
    let busy = stores.each_mut().map(|stores| stores.pop().expect("there is one"));
    beside_lookups(&busy, || {
        stores.iter().flatten().for_each(|store| before.of(store));
        // Locks of stores that were opened within half a second are looked for at the close.
        std::thread::sleep(Duration::from_secs(1));
        close(stores, threads)
    })
}

#[test]
fn closing_many_stores_beside_a_busy_one_takes_as_long_as_with_stock_filters() {
    let _one = ONE_AT_A_TIME.lock();
    let folders = [folder(), folder()];
    let filters = elastic(Duration::from_secs(3600));
    let options = [stock(), installed(&filters, &stock())];
    let kinds = [(&options[0], folders[0].path()), (&options[1], folders[1].path())];
    kinds.iter().for_each(|(options, folder)| drop(fill_stores(options, folder, store_count())));
    // Stores that are open for longer than this test's have a hotness file before they are closed, which is overwritten.
    closing(kinds, Use::LookedUp, CLOSERS);
    let uses = [Use::Idle, Use::LookedUp, Use::Written];
    for (before, threads) in uses.into_iter().flat_map(|before| [(before, 1), (before, CLOSERS)]) {
        let ratio = |[stock, elastic]: Both<Duration>| elastic.as_secs_f64() / stock.as_secs_f64();
        let rounds = 0..number("SPRINGBLOOM_ROUNDS", 3);
        let times: Vec<_> = rounds.map(|_| ratio(closing(kinds, before, threads))).collect();
        print!("{before:?}, {threads} threads: {times:.2?} times as long as with stock filters, ");
        let median = median(times);
        println!("{median:.2} in the median");
        assert!(median < TIMES_MAX);
    }
}

/// Which stores have a file that remembers what is hot, and was written since the last call.
fn written(folder: &Path, count: usize) -> Vec<usize> {
    let is_written = |&store: &usize| {
        let path = folder.join(store.to_string()).join(HOTNESS_FILE_NAME);
        let Ok(file) = File::options().write(true).open(path) else { return false };
        let modified = file.metadata().and_then(|file| file.modified()).expect("Linux tells it");
        file.set_modified(UNIX_EPOCH).expect("it is ours");
        modified != UNIX_EPOCH
    };
    (0..count).filter(is_written).collect()
}

#[test]
fn stores_that_nobody_looks_up_are_not_written_again() {
    let _one = ONE_AT_A_TIME.lock();
    let (folder, count) = (folder(), 20);
    let filters = elastic(Duration::from_millis(50));
    let mut stores = fill_stores(&installed(&filters, &stock()), folder.path(), count);
    let mut were_written = BTreeSet::new();
    wait_until("all stores are written", || {
        stores.iter().for_each(look_up);
        were_written.extend(written(folder.path(), count));
        were_written.len() == count
    });
    assert!(filters.wait_idle(IDLE_TIMEOUT));
    wait_until("what was looked up last is written", || {
        std::thread::sleep(Duration::from_millis(500));
        written(folder.path(), count).is_empty()
    });
    let busy = stores.pop().expect("there is one");
    beside_lookups(&[busy], || std::thread::sleep(Duration::from_secs(1)));
    drop(stores);
    assert_eq!(
        written(folder.path(), count),
        [count - 1],
        "the busy one alone, also when the others are closed"
    );
}
