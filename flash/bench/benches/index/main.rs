//! Measures the flash index and its competitors, and prints ratios taken within one run.
//!
//! Usage: `cargo bench -p springbloom-flash-bench --bench index -- SECTION...`. Sections:
//! - `ours`: builds an index. `skimpy`, `callers` and `stream` use it.
//! - `cold`: the last section on that index, since it leaves it as after a kill.
//! - `slides`: BloomStore, SkimpyStash and the index with the keys and the memory of BloomStore's slides.
//! - `bare` (without pre-filter), `trace`, `summaries`, `buckets`, `prefilters`, `variants`.
//! - `capped`, under a memory ceiling. With `--features peers` also `rocksdb`, `lmdb`, `redb`.
//!
//! Memory is the growth of the process, so each section runs in a process of its own. Without a section, all run.
//! `scripts/benchmark-index` runs those of the documentation. The file that `SPRINGBLOOM_RECORD` names gets a record of the run.
//! Settings come from the environment, see [`setup::Setup`].

mod alternatives;
mod bloomstore;
mod callers;
mod ceiling;
mod chains;
mod ours;
#[cfg(feature = "peers")]
#[allow(unsafe_code, reason = "LMDB is opened so")]
mod peers;
mod setup;
mod skimpy;
mod slides;
mod store;
mod summaries;
mod trace;

use std::process::Command;

use ours::Ours;
use setup::{SETTINGS, Setup};
use springbloom_filter::UnitSettings;
use springbloom_flash_index::{FlashIndex, IndexMemory, IndexSettings};
use springbloom_page_device::{Access, FileStorage, IoEngine, Span, Storage};
use springbloom_records::{Bench, Clock, RECORD_VARIABLE, Record};
use store::{Store, measure};

type Section = fn(&Setup);

const SECTIONS: &[(&str, Section)] = &[
    ("ours", ours),
    ("callers", callers::run),
    ("stream", stream),
    ("skimpy", chains::run),
    ("slides", slides::run),
    ("cold", cold),
    ("bare", bare),
    ("trace", trace::run),
    ("summaries", summaries::run),
    ("buckets", alternatives::buckets),
    ("prefilters", alternatives::prefilters),
    ("variants", variants),
    ("capped", capped),
    #[cfg(feature = "peers")]
    ("rocksdb", rocksdb),
    #[cfg(feature = "peers")]
    ("lmdb", lmdb),
    #[cfg(feature = "peers")]
    ("redb", redb),
];

fn main() {
    // Cargo adds `--bench`.
    let named: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let (setup, clock) = (Setup::from_environment(), Clock::start());
    if let [name] = &named[..] {
        let section = SECTIONS.iter().find(|(section, _)| section == name);
        section.unwrap_or_else(|| panic!("no section {name}")).1(&setup);
    } else {
        println!("{}\n", setup.header());
        let all = || SECTIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
        let sections: Vec<String> = if named.is_empty() { all() } else { named.clone() };
        sections.iter().for_each(|name| in_a_process(&setup, name));
    }
    let bench = Bench { folder: "flash/bench", bench: "index", environment: &SETTINGS, sections: &named };
    let figures = setup.figures.take();
    bench.record(&clock, setup.seed, figures).expect("the record of the run");
}

/// Runs a section, and takes the figures of its record.
fn in_a_process(setup: &Setup, name: &str) {
    let mut section = Command::new(std::env::current_exe().expect("this program"));
    let record =
        std::env::var_os(RECORD_VARIABLE).map(|path| std::path::Path::new(&path).with_extension(name));
    section.arg(name).envs(record.as_ref().map(|path| (RECORD_VARIABLE, path)));
    assert!(section.status().expect("a process").success(), "{name} failed");
    if let Some(path) = record {
        let record = Record::read(&path).expect("a record").expect("a section writes its record");
        setup.figures.extend(record.figures);
        std::fs::remove_file(path).expect("remove");
    }
}

/// Measures a store under the memory ceiling. `make` gets the memory that it may use.
fn under_ceiling<S: Store>(setup: &Setup, name: &str, make: impl FnOnce(&Setup, usize) -> S) {
    let setup = setup.under_ceiling();
    let limit = ceiling::join().unwrap_or(32 << 20);
    // The rest is for code, stack and the buffers of calls.
    let _store = measure(&setup, name, || make(&setup, limit as usize / 3));
    let of = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!("{:28} {:.1} MiB used of {:.1}", "", ceiling::used().map_or(f64::NAN, of), of(limit));
}

fn capped(setup: &Setup) {
    under_ceiling(setup, "springbloom, capped", |setup, _| {
        Ours::make(setup, "capped", IndexSettings::new(0), IndexMemory::standard())
    });
}

#[cfg(feature = "peers")]
fn rocksdb(setup: &Setup) {
    under_ceiling(setup, "RocksDB, Bloom 10", peers::RocksDb::make);
}

#[cfg(feature = "peers")]
fn lmdb(setup: &Setup) {
    under_ceiling(setup, "LMDB", peers::Lmdb::make);
}

#[cfg(feature = "peers")]
fn redb(setup: &Setup) {
    under_ceiling(setup, "redb", peers::Redb::make);
}

/// An index without a hint for the number of keys.
fn ours(setup: &Setup) {
    let settings = IndexSettings::new(0);
    let ours = measure(setup, "springbloom", || Ours::make(setup, "ours", settings, IndexMemory::standard()));
    ours.index.close().expect("close");
}

/// Settings that were considered.
fn variants(setup: &Setup) {
    let standard = IndexMemory::standard();
    let units = |front: Result<UnitSettings, _>, back: Result<UnitSettings, _>| IndexMemory {
        prefilter: front.ok().zip(back.ok()).map(|(front, back)| [front, back]),
        ..standard
    };
    let buckets = |bucket_sectors| IndexSettings { bucket_sectors, ..IndexSettings::new(0) };
    // With a tiny minimum, so that a small index behaves like a large one.
    let pending = |pending_bytes_per_record| IndexMemory {
        pending_bytes_per_record,
        pending_bytes_min: 64 << 10,
        ..standard
    };
    let only = std::env::var("SPRINGBLOOM_BENCH_VARIANT").ok();
    for (name, settings, memory) in [
        ("bloom 1x4", buckets(16), units(UnitSettings::bloom(1, 4), UnitSettings::bloom(1, 4))),
        ("ribbon 3 and 3", buckets(16), units(UnitSettings::ribbon(3), UnitSettings::ribbon(3))),
        ("ribbon 3 and 4", buckets(16), units(UnitSettings::ribbon(3), UnitSettings::ribbon(4))),
        ("ribbon 4 and 3", buckets(16), units(UnitSettings::ribbon(4), UnitSettings::ribbon(3))),
        ("ribbon 4 and 4", buckets(16), units(UnitSettings::ribbon(4), UnitSettings::ribbon(4))),
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
        measure(setup, name, || Ours::make(setup, "variants", settings, memory));
    }
}

fn bare(setup: &Setup) {
    let memory = IndexMemory { prefilter: None, ..IndexMemory::standard() };
    measure(setup, "springbloom, no pre-filter", || Ours::make(setup, "bare", IndexSettings::new(0), memory));
}

/// The index that `ours` left, after reading all of it once. A virtual disk may have a cache below it, in which recent writes are several
/// times as fast as older ones.
pub(crate) fn open_ours(setup: &Setup) -> FlashIndex {
    const SPAN_BYTES: usize = 1 << 20;
    let directory = setup.directory.join("ours");
    let storage = FileStorage::open(&directory, Access::Write, IoEngine::Auto).expect("what `ours` left");
    for file in ["records", "buckets"] {
        let device = storage.open(file).expect("open");
        let spans: Vec<Span> = (0..device.len_bytes() / SPAN_BYTES as u64)
            .map(|n| Span { offset: n * SPAN_BYTES as u64, len_bytes: SPAN_BYTES })
            .collect();
        device.read_each(&spans, &mut |_, bytes| assert!(bytes.is_ok()));
    }
    drop(storage);
    FlashIndex::open(&directory, IndexMemory::standard()).expect("open what `ours` left")
}

/// Lookups of present keys, none of which is in memory, after a fresh opening.
fn cold(setup: &Setup) {
    const LOOKUPS: u64 = 524_288;
    let opened = |how: &str| {
        let (start, before) = (std::time::Instant::now(), setup::device_read_bytes());
        let directory = setup.directory.join("ours");
        let index = FlashIndex::open(&directory, IndexMemory::standard()).expect("open");
        let read = (setup::device_read_bytes() - before) as f64 / 1e6;
        println!("opened {how} in {:.3} s, {read:.0} MB read", start.elapsed().as_secs_f64());
        index
    };
    drop(open_ours(setup));
    let index = opened("after closing");
    let start = std::time::Instant::now();
    let mut draw = setup.seed + 1;
    for _ in 0..LOOKUPS / setup::BATCH {
        let keys = setup.random_keys(&mut draw, true);
        let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        assert!(index.get_many(&wanted).expect("get").iter().all(Option::is_some));
    }
    println!("{LOOKUPS} cold lookups in {:.2} s", start.elapsed().as_secs_f64());
    // A put followed by a kill. The files of the clean close would still be used, so they are removed as well.
    index.put(&setup.key(0), &setup::value_of(&setup.key(0))).expect("put");
    index.commit().expect("commit");
    drop(index);
    for file in ["waiting", "filters"] {
        std::fs::remove_file(setup.directory.join("ours").join(file)).expect("an index that was closed");
    }
    drop(opened("as after a kill"));
}

/// A repeated backup: all keys in the order of their puts, every fourth one changed (so absent), with and without readahead.
fn stream(setup: &Setup) {
    let index = open_ours(setup);
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
        let reads = |stats: &springbloom_flash_index::IndexStats| {
            stats.bucket_reads + stats.page_reads + stats.readahead_reads
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
