//! Measures the flash index against what it must beat, and prints ratios taken within this one run.
//!
//! `cargo bench -p springbloom-flash --bench index -- SECTION`, sections: `ours`, `bare` (without pre-filter), `grown`, `skimpy`,
//! `device`, `cold`, `stream`, `threads` (these use what `ours` left), `summaries`, `variants`; with `--features peers` also `rocksdb`, `lmdb`, `redb`. Each in a process of its own, so that memory is measured
//! as the process's growth; without a section, all of them are run so. Settings come from the environment, see [`setup::Setup`].

#[path = "../flash_filter/fio.rs"]
mod fio;
#[path = "../flash_filter/machine.rs"]
mod machine;
mod ours;
#[cfg(feature = "peers")]
#[allow(unsafe_code, reason = "LMDB is opened so")]
mod peers;
mod setup;
mod skimpy;
mod store;
mod summaries;

use std::process::Command;

use ours::Ours;
use setup::Setup;
use skimpy::Skimpy;
use springbloom_filter::UnitSettings;
use springbloom_flash::index::{IndexMemory, IndexSettings};
use store::measure;

type Section = fn(&Setup);

const SECTIONS: &[(&str, Section)] = &[
    ("ours", ours),
    ("bare", bare),
    ("grown", grown),
    ("skimpy", skimpy),
    ("device", device),
    ("cold", cold),
    ("stream", stream),
    ("threads", threads),
    ("summaries", summaries::run),
    ("variants", variants),
    #[cfg(feature = "peers")]
    ("rocksdb", rocksdb),
    #[cfg(feature = "peers")]
    ("lmdb", lmdb),
    #[cfg(feature = "peers")]
    ("redb", redb),
];

fn main() {
    // Cargo adds `--bench`; the name is what is left.
    let named: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let setup = Setup::from_environment();
    if let Some(name) = named.first() {
        let section = SECTIONS.iter().find(|(section, _)| *section == name);
        section.unwrap_or_else(|| panic!("no section {name}")).1(&setup);
        return;
    }
    println!("{}\n", setup.header());
    for (name, _) in SECTIONS {
        let this = std::env::current_exe().expect("this program");
        assert!(Command::new(this).arg(name).status().expect("a process").success(), "{name} failed");
    }
}

#[cfg(feature = "peers")]
fn rocksdb(setup: &Setup) {
    measure(setup, || peers::RocksDb::make(setup)).print("RocksDB, Bloom 10");
}

#[cfg(feature = "peers")]
fn lmdb(setup: &Setup) {
    measure(setup, || peers::Lmdb::make(setup)).print("LMDB");
}

#[cfg(feature = "peers")]
fn redb(setup: &Setup) {
    measure(setup, || peers::Redb::make(setup)).print("redb");
}

fn ours(setup: &Setup) {
    let settings = IndexSettings::new(setup.keys);
    measure(setup, || Ours::make(setup, "ours", settings, IndexMemory::standard())).print("springbloom");
}

/// An index that was not told how many keys to expect.
fn grown(setup: &Setup) {
    let settings = IndexSettings::new(0);
    measure(setup, || Ours::make(setup, "grown", settings, IndexMemory::standard()))
        .print("springbloom, grown");
}

/// Settings that were considered, one by one.
fn variants(setup: &Setup) {
    let standard = IndexMemory::standard();
    let units = |units: Result<UnitSettings, _>| IndexMemory { prefilter: units.ok(), ..standard };
    let buckets = |bucket_sectors| IndexSettings { bucket_sectors, ..IndexSettings::new(0) };
    // With next to no least amount, so that a small index shows what a large one does.
    let pending = |pending_bytes_per_record| IndexMemory {
        pending_bytes_per_record,
        pending_bytes_min: 64 << 10,
        ..standard
    };
    let only = std::env::var("SPRINGBLOOM_BENCH_VARIANT").ok();
    for (name, settings, memory) in [
        ("bloom 1x4", buckets(16), units(UnitSettings::bloom(1, 4))),
        ("ribbon 4x1", buckets(16), units(UnitSettings::ribbon(4))),
        ("8 sectors", buckets(8), standard),
        ("32 sectors", buckets(32), standard),
        ("pending 0.10", buckets(16), pending(0.10)),
        ("pending 0.16", buckets(16), pending(0.16)),
        ("pending 0.20", buckets(16), pending(0.20)),
        ("pending 0.25", buckets(16), pending(0.25)),
        ("32 sectors, pending 0.16", buckets(32), pending(0.16)),
    ]
    .into_iter()
    .filter(|(name, ..)| only.as_ref().is_none_or(|only| name.contains(only)))
    {
        measure(setup, || Ours::make(setup, "variants", settings, memory)).print(name);
    }
}

fn bare(setup: &Setup) {
    let settings = IndexSettings::new(setup.keys);
    let memory = IndexMemory::without_prefilter();
    measure(setup, || Ours::make(setup, "bare", settings, memory)).print("springbloom, no pre-filter");
}

/// Chains of 10 records and 4 bits of filter, 0.9 bytes per key: the memory that the index has.
fn skimpy(setup: &Setup) {
    measure(setup, || Skimpy::make(setup, 10, 4)).print("bucket chains (SkimpyStash)");
}

/// Random reads of a page, as fast as the device gives them.
fn device(setup: &Setup) {
    let file = setup.directory.join("ours").join("records");
    for depth in [1, 32] {
        let rate = fio::random_reads_per_second(&file, depth, setup.time);
        println!("fio, queue depth {depth:<2}           {:>9.0} reads/s", rate.unwrap_or(f64::NAN));
    }
}

/// The claim of "likely too slow": so many lookups of keys that are there, none of which is in memory, after a fresh opening.
fn cold(setup: &Setup) {
    const LOOKUPS: u64 = 524_288;
    let directory = setup.directory.join("ours");
    let start = std::time::Instant::now();
    let index =
        springbloom_flash::index::FlashIndex::open(&directory, IndexMemory::standard()).expect("open");
    println!("opened in {:.3} s", start.elapsed().as_secs_f64());
    let start = std::time::Instant::now();
    let mut draw = setup.seed + 1;
    for _ in 0..LOOKUPS / setup::BATCH {
        let keys = setup.random_keys(&mut draw, true);
        let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        assert!(index.get_many(&wanted).expect("get").iter().all(Option::is_some));
    }
    println!("{LOOKUPS} cold lookups in {:.2} s", start.elapsed().as_secs_f64());
}

/// A backup of what was backed up before: all keys in the order in which they were put, every fourth one changed (so absent), with and without
/// locality.
fn stream(setup: &Setup) {
    let directory = setup.directory.join("ours");
    let index =
        springbloom_flash::index::FlashIndex::open(&directory, IndexMemory::standard()).expect("open");
    let lookups = setup.keys.min(2_000_000);
    let batch_of = |first: u64| -> Vec<[u8; setup::KEY_BYTES]> {
        let numbers = first..first + setup::BATCH;
        numbers.map(|n| setup.key(if n % 4 == 3 { n + setup.keys } else { n })).collect()
    };
    for with_locality in [false, true] {
        let before = index.stats();
        let start = std::time::Instant::now();
        let mut seen = index.stream(16);
        let mut found = 0;
        for first in (0..lookups).step_by(setup::BATCH as usize) {
            let keys = batch_of(first);
            let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let values = if with_locality { seen.get_many(&wanted) } else { index.get_many(&wanted) };
            found += values.expect("get").iter().filter(|value| value.is_some()).count();
            if start.elapsed() > 4 * setup.time {
                break;
            }
        }
        let after = index.stats();
        let looked_up = after.lookups - before.lookups;
        let reads = |stats: &springbloom_flash::index::IndexStats| {
            stats.bucket_reads + stats.page_reads + stats.chapter_reads
        };
        println!(
            "stream, {} locality: {:>9.0} lookups/s, {:.4} reads per lookup, {:.3} found",
            if with_locality { "with" } else { "without" },
            looked_up as f64 / start.elapsed().as_secs_f64(),
            (reads(&after) - reads(&before)) as f64 / looked_up as f64,
            found as f64 / looked_up as f64
        );
    }
}

/// Several callers at once: what a batch costs the processor beside the device.
fn threads(setup: &Setup) {
    let directory = setup.directory.join("ours");
    let index =
        springbloom_flash::index::FlashIndex::open(&directory, IndexMemory::standard()).expect("open");
    for threads in [1u64, 2, 4] {
        let rates: Vec<f64> = std::thread::scope(|scope| {
            let run = |thread: u64| {
                let mut draw = setup.seed + thread;
                setup::rate(setup.time, || {
                    let keys = setup.random_keys(&mut draw, true);
                    let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
                    assert!(index.get_many(&wanted).expect("get").iter().all(Option::is_some));
                    setup::BATCH
                })
            };
            let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
            workers.into_iter().map(|worker| worker.join().expect("a thread")).collect()
        });
        println!("{threads} threads: {:>9.0} hits/s", rates.iter().sum::<f64>());
    }
}
