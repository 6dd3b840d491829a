//! Measures the flash index against what it must beat, and prints ratios taken within this one run.
//!
//! `cargo bench -p springbloom-flash --bench index -- SECTION`, sections: `ours`, `bare` (without pre-filter), `skimpy`,
//! `device`, `stream`; with `--features peers` also `rocksdb`, `lmdb`, `redb`. Each in a process of its own, so that memory is measured
//! as the process's growth; without a section, all of them are run so. Settings come from the environment, see [`setup::Setup`].

#[path = "../flash_filter/fio.rs"]
mod fio;
mod ours;
mod setup;
mod skimpy;
mod store;

use std::process::Command;

use ours::Ours;
use setup::Setup;
use skimpy::Skimpy;
use springbloom_filter::UnitSettings;
use springbloom_flash::index::{IndexMemory, IndexSettings};
use store::measure;

type Section = fn(&Setup);

const SECTIONS: [(&str, Section); 6] = [
    ("ours", ours),
    ("variants", variants),
    ("bare", bare),
    ("skimpy", skimpy),
    ("device", device),
    ("cold", cold),
];

fn main() {
    // Cargo adds `--bench`; the name is what is left.
    let named: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let setup = Setup::from_environment();
    if let Some(name) = named.first() {
        let section = SECTIONS.iter().find(|(section, _)| section == name);
        section.unwrap_or_else(|| panic!("no section {name}")).1(&setup);
        return;
    }
    println!("{}\n", setup.header());
    for (name, _) in SECTIONS {
        let this = std::env::current_exe().expect("this program");
        assert!(Command::new(this).arg(name).status().expect("a process").success(), "{name} failed");
    }
}

fn ours(setup: &Setup) {
    let settings = IndexSettings::new(0);
    measure(setup, || Ours::make(setup, "ours", settings, IndexMemory::standard())).print("springbloom");
}

/// Settings that were considered, one by one.
fn variants(setup: &Setup) {
    let standard = IndexMemory::standard();
    let units = |units: Result<UnitSettings, _>| IndexMemory { prefilter: units.ok(), ..standard };
    let buckets = |bucket_sectors| IndexSettings { bucket_sectors, ..IndexSettings::new(0) };
    let pending = |pending_bytes_per_record| IndexMemory { pending_bytes_per_record, ..standard };
    for (name, settings, memory) in [
        ("bloom 1x4", buckets(16), units(UnitSettings::bloom(1, 4))),
        ("ribbon 4x1", buckets(16), units(UnitSettings::ribbon(4))),
        ("8 sectors", buckets(8), standard),
        ("32 sectors", buckets(32), standard),
        ("pending 0.1", buckets(16), pending(0.1)),
        ("pending 0.3", buckets(16), pending(0.3)),
    ] {
        measure(setup, || Ours::make(setup, "variants", settings, memory)).print(name);
    }
}

fn bare(setup: &Setup) {
    let settings = IndexSettings::new(0);
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
