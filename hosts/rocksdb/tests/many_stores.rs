//! Many databases in one process, one of which is busy: what closing and saving the others takes.
//!
//! `SPRINGBLOOM_STORES` sets their number (default 50), `SPRINGBLOOM_ROUNDS` how often they are closed (default 3).

mod common;

use std::{
    collections::BTreeSet,
    fs::File,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant, UNIX_EPOCH},
};

use parking_lot::Mutex;
use rocksdb::{BlockBasedOptions, DB, Options, WriteOptions};
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME};
use springbloom_testkit::cpu_time::cpu_time;

use crate::common::{IDLE_TIMEOUT, contents, folder, installed, wait_until};

const STORES: usize = 50;
const TABLES: u32 = 4;
const TABLE_KEYS: u32 = 50;
/// Threads that look up in the busy store. One core of two is left, or the scheduler's slices of 4 ms would be what is measured.
const READERS: u32 = 1;
/// Threads that close stores.
const CLOSERS: usize = 4;
/// Closing takes no longer than so many times that of stock stores. It takes about as long; waiting for the busy store takes ten times.
const TIMES_MAX: f64 = 4.0;
/// Nor does it take so many times the processor time, which hardly depends on who else uses the machine.
const CPU_TIMES_MAX: f64 = 3.0;
const BUDGET_BYTES: u64 = 64 << 20;

/// One test at a time: each measures.
static MACHINE: Mutex<()> = Mutex::new(());

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

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

/// Runs `run` while threads look up in the store.
fn beside_lookups<T>(store: &DB, run: impl FnOnce() -> T) -> T {
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    look_up(store);
                }
            });
        }
        let _stop = Stop(&is_over);
        run()
    })
}

/// What it took to close stores.
struct Closing {
    elapsed: Duration,
    /// Of the threads that closed them.
    cpu_time: Duration,
}

/// Closes stores, one after the other in each of so many threads.
fn close(stores: Vec<DB>, threads: usize) -> Closing {
    let stores = Mutex::new(stores);
    let begun = Instant::now();
    let close_some = || {
        while let Some(store) = { stores.lock().pop() } {
            drop(store);
        }
        cpu_time()
    };
    let cpu_time = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(close_some)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it closes")).sum()
    });
    Closing { elapsed: begun.elapsed(), cpu_time }
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

/// Closes all stores but a busy one.
fn closing(options: &Options, folder: &Path, before: Use, threads: usize) -> Closing {
    let mut stores: Vec<_> = (0..store_count()).map(|store| open(options, folder, store)).collect();
    let busy = stores.pop().expect("there is one");
    beside_lookups(&busy, || {
        stores.iter().for_each(|store| before.of(store));
        std::thread::sleep(Duration::from_millis(300));
        close(stores, threads)
    })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[test]
fn closing_many_stores_beside_a_busy_one_takes_as_long_as_with_stock_filters() {
    let _machine = MACHINE.lock();
    let (stock_folder, elastic_folder) = (folder(), folder());
    let filters = elastic(Duration::from_secs(3600));
    let with_elastic = installed(&filters, &stock());
    drop(fill_stores(&stock(), stock_folder.path(), store_count()));
    drop(fill_stores(&with_elastic, elastic_folder.path(), store_count()));
    // Stores that are open for longer than this test's have a hotness file before they are closed, which is overwritten.
    closing(&with_elastic, elastic_folder.path(), Use::LookedUp, CLOSERS);
    let uses = [Use::Idle, Use::LookedUp, Use::Written];
    for (before, threads) in uses.into_iter().flat_map(|before| [(before, 1), (before, CLOSERS)]) {
        let (mut elapsed, mut cpu_times) = (Vec::new(), Vec::new());
        for round in 0..number("SPRINGBLOOM_ROUNDS", 3) {
            let of_stock = || closing(&stock(), stock_folder.path(), before, threads);
            let of_elastic = || closing(&with_elastic, elastic_folder.path(), before, threads);
            // Each is the first one in turn.
            let (stock, elastic) = if round % 2 == 0 {
                let stock = of_stock();
                (stock, of_elastic())
            } else {
                let elastic = of_elastic();
                (of_stock(), elastic)
            };
            elapsed.push(elastic.elapsed.as_secs_f64() / stock.elapsed.as_secs_f64());
            cpu_times.push(elastic.cpu_time.as_secs_f64() / stock.cpu_time.as_secs_f64());
        }
        println!("{before:?}, {threads} threads: elapsed {elapsed:.2?}, processor {cpu_times:.2?}");
        let (elapsed, cpu_time) = (median(elapsed), median(cpu_times));
        println!(
            "medians: {elapsed:.2} times as long as with stock filters, {cpu_time:.2} times the processor time"
        );
        assert!(elapsed < TIMES_MAX, "{elapsed:.2} times as long as with stock filters");
        assert!(cpu_time < CPU_TIMES_MAX, "{cpu_time:.2} times the processor time with stock filters");
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
    let _machine = MACHINE.lock();
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
    beside_lookups(&busy, || std::thread::sleep(Duration::from_secs(1)));
    drop(stores);
    assert_eq!(
        written(folder.path(), count),
        [count - 1],
        "the busy one alone, also when the others are closed"
    );
}
