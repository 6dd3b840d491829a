//! Databases of earlier versions open, and their filters are used. `tests/golden` has one folder for each release and unit family, which
//! `cargo test --release -p springbloom-rocksdb --test features golden -- --ignored` writes.

use std::{fs, path::PathBuf};

use rocksdb::{
    BlockBasedOptions, DB, Direction, IteratorMode, Options, ReadOptions, SliceTransform,
    WaitForCompactOptions,
};
use springbloom_published_policies::PolicyKind;
use springbloom_rocksdb::{ElasticFilters, HOTNESS_FILE_NAME, UnitSettings};

use crate::common::{
    AMPLE_BYTES, IDLE_TIMEOUT, contents, copy_files, folder, installed, resident_units, small_segments,
    small_tree, unsafe_calls::is_from,
};

/// Half of them are present: enough for two segments.
const NUMBERS: u32 = 1_000;
const TAG: &str = "golden";

fn golden() -> PathBuf {
    PathBuf::from("tests/golden")
}

/// Of a database with this name.
fn options_of(name: &str) -> Options {
    let mut options = small_tree();
    if name.ends_with(PREFIXES) {
        options.set_prefix_extractor(SliceTransform::create_fixed_prefix(PREFIX_BYTES));
        let mut tables = BlockBasedOptions::default();
        tables.set_bloom_filter(10.0, false);
        options.set_block_based_table_factory(&tables);
    }
    options
}

/// A database with units over prefixes: version 2 of the format.
const PREFIXES: &str = "prefixes";
/// Whole keys, so that those of absent keys are absent.
const PREFIX_BYTES: usize = 10;

/// The value of the first key with this prefix.
fn seek(db: &DB, prefix: &[u8]) -> Option<Box<[u8]>> {
    let mut read = ReadOptions::default();
    read.set_prefix_same_as_start(true);
    read.set_iterate_upper_bound([prefix, b"\0"].concat());
    let found = db.iterator_opt(IteratorMode::From(prefix, Direction::Forward), read).next();
    found.map(|entry| entry.expect("the iterator is sound").1)
}

fn elastic(policy: PolicyKind, units: UnitSettings) -> ElasticFilters {
    let builder = small_segments(AMPLE_BYTES).units(units);
    builder.build_with(policy.policy(None)).expect("the settings are sound")
}

#[test]
fn databases_of_every_release_open_and_are_filtered() {
    if !is_from((10, 4, 0)) {
        return; // they are of RocksDB's format 7
    }
    let mut found = 0;
    for entry in fs::read_dir(golden()).expect("tests/golden") {
        let original = entry.expect("an entry").path();
        for is_warm in [true, false] {
            let copy = folder();
            copy_files(&original, copy.path());
            if !is_warm {
                fs::remove_file(copy.path().join(HOTNESS_FILE_NAME))
                    .expect("a hotness file is in the folder");
            }
            // A policy that gives a cold table one unit a segment, however much memory is free.
            let elastic = elastic(PolicyKind::MultiQueue, UnitSettings::default());
            let options = options_of(&original.to_string_lossy());
            let db = DB::open(&installed(&elastic, &options), copy.path()).expect("open");
            assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");

            let name = format!("{}, warm: {is_warm}", original.display());
            let status = elastic.status(&db).expect("status");
            assert!(status.is_active && status.tables_with_units > 0, "{name}: {status:?}");
            assert_eq!(status.tables_without_units, 0, "{name}");
            let stats = elastic.stats();
            let (units, segments) = (resident_units(&stats), stats.segments as u64);
            // The file says that every unit was resident.
            let least = if is_warm { 6 * segments } else { segments };
            assert!(segments > 1 && units >= least, "{name}: {units} units of {segments} segments");
            assert!(is_warm || units < 6 * segments, "{name}: {units} units of {segments} segments");

            contents::check(NUMBERS, |key| db.get(key).expect("get"), TAG);
            let stats = elastic.stats();
            assert!(stats.outcomes.rejected > u64::from(NUMBERS) / 8, "{name}: {stats:?}");
            if original.to_string_lossy().ends_with(PREFIXES) {
                contents::check(NUMBERS, |key| seek(&db, key), TAG);
                let of_seeks = elastic.stats().outcomes.rejected - stats.outcomes.rejected;
                assert!(of_seeks > u64::from(NUMBERS) / 8, "{name}: {of_seeks} prefixes were rejected");
            }
            let stats = elastic.stats();
            assert_eq!((stats.corrupt_units, stats.failed_reads), (0, 0), "{name}");
        }
        found += 1;
    }
    assert!(found >= 3, "tests/golden has {found} databases");
}

#[test]
#[ignore = "writes the databases of this version"]
fn write_databases_of_this_version() {
    let families = [
        ("bloom", UnitSettings::bloom(6, 4)),
        ("ribbon", UnitSettings::ribbon(16)),
        (PREFIXES, UnitSettings::ribbon(16)),
    ];
    for (name, units) in families {
        let folder = folder();
        let elastic = elastic(PolicyKind::Uniform, units.expect("the settings are sound"));
        let mut options = options_of(name);
        options.set_disable_auto_compactions(true);
        let db = DB::open(&installed(&elastic, &options), folder.path()).expect("open");
        contents::fill(NUMBERS, |key, value| db.put(key, value).expect("put"), TAG);
        db.flush().expect("flush");
        db.wait_for_compact(&WaitForCompactOptions::default()).expect("compaction");
        // Uniform loads all that fits; one visit of each segment is worth saving.
        contents::check(NUMBERS, |key| db.get(key).expect("get"), TAG);
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        drop((db, elastic));

        let target = golden().join(format!("{}-{name}", env!("CARGO_PKG_VERSION")));
        fs::create_dir_all(golden()).expect("tests/golden");
        fs::create_dir(&target).expect("a new folder; delete that of an unreleased format first");
        copy_files(folder.path(), &target);
        for entry in fs::read_dir(&target).expect("the new folder") {
            let path = entry.expect("an entry").path();
            let file = path.file_name().expect("a file has a name").to_string_lossy();
            // Not part of the database: logs of what happened, the lock, and the empty write-ahead log.
            if file == "LOCK" || file.starts_with("LOG") || file.ends_with(".log") {
                fs::remove_file(&path).expect("a file can be deleted");
            }
        }
    }
}
