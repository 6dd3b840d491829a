//! `springbloom inspect` on databases that `compare` made.

use std::fs;
use std::path::Path;
use std::time::Duration;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::common::{refused, springbloom};

fn databases(dir: &Path) {
    let compare = "compare --set buffered --records 30000 --value-bytes 100 --ops 10 --warmup 0";
    let configs = "bloom:10,elastic:6@segment_size=256KiB";
    springbloom(compare).args(["--configs", configs, "--dir"]).arg(dir).assert().success();
}

fn inspect(db: &Path) -> (i32, Value) {
    let output = springbloom("inspect").arg(db).arg("--json").output().expect("run");
    let document = serde_json::from_slice(&output.stdout).expect("standard output is one JSON document");
    (output.status.code().expect("exit code"), document)
}

fn sum(tables: &Value, field: &str) -> u64 {
    tables.as_array().expect("array").iter().map(|table| table[field].as_u64().expect(field)).sum()
}

#[test]
fn units_are_shown_and_verified() {
    let folder = tempfile::tempdir().expect("folder");
    databases(folder.path());
    let elastic = folder.path().join("elastic-6@segment_size=256KiB-ribbon-16-262144");
    let (code, document) = inspect(&elastic);
    assert_eq!(code, 0, "{document}");
    assert_eq!(sum(&document["tables"], "entries"), 30_000);
    assert_eq!(sum(&document["levels"], "entries"), 30_000);
    assert_eq!(sum(&document["levels"], "tables"), sum(&document["levels"], "tables_with_units"));
    let indexes = sum(&document["tables"], "index_bytes");
    assert!(indexes > 0 && sum(&document["levels"], "index_bytes") == indexes, "{document}");
    // 30,000 records of 124 B in segments of 256 KiB.
    assert!((14..=24).contains(&sum(&document["levels"], "segments")), "{document}");
    let keys: u64 = (document["tables"].as_array().expect("tables").iter())
        .map(|table| sum(&table["units"]["segments"], "key_count"))
        .sum();
    assert_eq!(keys, 30_000);
    // 16 units of one bit per key, with some spare slots in each segment.
    let bits = sum(&document["levels"], "unit_bytes") as f64 * 8.0 / 30_000.0;
    assert!((16.0..17.5).contains(&bits), "{bits}");
    let told = contains("sound").and(contains("level"));
    springbloom("inspect").arg(&elastic).assert().success().stdout(told);

    let (code, stock) = inspect(&folder.path().join("bloom-10"));
    let levels = &stock["levels"];
    assert_eq!((code, sum(levels, "tables_with_units"), sum(levels, "segments")), (0, 0, 0));
}

#[test]
fn damaged_units_are_found() {
    let folder = tempfile::tempdir().expect("folder");
    databases(folder.path());
    let elastic = folder.path().join("elastic-6@segment_size=256KiB-ribbon-16-262144");
    let (_, sound) = inspect(&elastic);
    let table = &sound["tables"][0];
    let path = elastic.join(table["name"].as_str().expect("name"));
    let mut bytes = fs::read(&path).expect("read");
    // Behind the units come the index, a third of their size here, and less than 2 KiB of properties: this far from the
    // end is the middle of the units.
    let at = bytes.len() - table["filter_bytes"].as_u64().expect("size") as usize * 85 / 100;
    bytes[at] ^= 1;
    fs::write(&path, bytes).expect("write");
    let (code, document) = inspect(&elastic);
    assert_eq!(code, 1, "{document}");
    assert_eq!(sum(&document["levels"], "corrupt_units"), 1, "{document}");
    springbloom("inspect").arg(&elastic).assert().code(1).stderr(contains("damaged"));
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    for path in [folder.path(), Path::new("/nonexistent")] {
        refused(springbloom("inspect").arg(path), "is not a RocksDB database");
    }
    springbloom("inspect").assert().code(2);
}

#[test]
fn databases_that_cannot_be_opened_are_bad_input_and_damage_is_not() {
    let folder = tempfile::tempdir().expect("folder");
    databases(folder.path());
    let db = folder.path().join("elastic-6@segment_size=256KiB-ribbon-16-262144");
    let manifest = fs::read_to_string(db.join("CURRENT")).expect("it names the manifest");
    let manifest = manifest.trim();
    let table = fs::read_dir(&db).expect("a folder").flatten().map(|entry| entry.file_name());
    let table = table.into_iter().find(|name| name.to_string_lossy().ends_with(".sst")).expect("a table");
    let table = table.to_str().expect("text");
    let hotness = "OPTIONS-0-SPRINGBLOOM-HOTNESS.dbtmp";
    // What is in the place of which file, and what is said of it.
    for (file, content, code, said) in [
        ("CURRENT", Some("junk"), 2, "cannot be read as a RocksDB database"),
        ("CURRENT", Some(""), 2, "cannot be read as a RocksDB database"),
        ("CURRENT", Some("MANIFEST-../x\n"), 2, "expected the name of a MANIFEST"),
        ("CURRENT", Some("MANIFEST-999999\n"), 2, "cannot be read as a RocksDB database"),
        ("CURRENT", None, 2, "it has no file CURRENT"),
        (manifest, Some("of another program"), 2, "cannot be read as a RocksDB database"),
        (manifest, Some(""), 2, "cannot be read as a RocksDB database"),
        (manifest, None, 2, "cannot be read as a RocksDB database"),
        (table, None, 2, table),
        (table, None, 2, "--tables-in"),
        // The database lists it, and it is there: damage.
        (table, Some("of another program"), 1, table),
        (table, Some(""), 1, table),
        // It was made by us, and lookups go without it: damage.
        (hotness, Some("junk"), 1, "hotness header is cut off"),
        (hotness, Some("junk"), 1, "delete it, and the next start is cold"),
        (hotness, None, 2, "it is not a regular file"),
    ] {
        let place = db.join(file);
        let saved = fs::read(&place).expect("it was there");
        fs::remove_file(&place).expect("remove");
        match content {
            Some(content) => fs::write(&place, content).expect("write"),
            None if file == hotness => fs::create_dir(&place).expect("a folder in its place"),
            None => (),
        }
        for command in ["inspect", "advise"] {
            let refused = springbloom(command).arg(&db).assert().code(code);
            refused.stderr(contains(said).and(contains("panicked").not()));
        }
        if place.is_dir() {
            fs::remove_dir(&place).expect("remove");
        }
        fs::write(&place, saved).expect("put back");
    }
    // Nobody writes into these pipes.
    for file in ["CURRENT", manifest, table] {
        let place = db.join(file);
        let saved = fs::read(&place).expect("it was there");
        fs::remove_file(&place).expect("remove");
        assert!(std::process::Command::new("mkfifo").arg(&place).status().expect("mkfifo").success());
        for command in ["inspect", "advise"] {
            let refused = springbloom(command).arg(&db).timeout(Duration::from_secs(60)).assert();
            let said = if file == "CURRENT" { "its CURRENT is not a regular file" } else { file };
            refused.failure().stderr(contains(said));
        }
        fs::remove_file(&place).expect("remove");
        fs::write(&place, saved).expect("put back");
    }
    let stray = folder.path().join("stray");
    fs::create_dir(&stray).expect("a folder");
    for name in ["CURRENT", "notes", "000001.sst"] {
        fs::write(stray.join(name), "mine").expect("write");
    }
    springbloom("inspect").arg(&stray).assert().code(2).stderr(contains("stray cannot be read"));
    inspect(&db);
}
