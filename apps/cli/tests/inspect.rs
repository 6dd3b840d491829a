//! `springbloom inspect` on databases that `compare` made.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

fn springbloom() -> Command {
    Command::cargo_bin("springbloom").expect("the program is built for its tests")
}

fn databases(dir: &Path) {
    springbloom()
        .args([
            "compare",
            "--buffered",
            "--records",
            "30000",
            "--value-bytes",
            "100",
            "--ops",
            "10",
            "--warmup",
            "0",
        ])
        .args(["--configs", "bloom:10,elastic:6", "--segment-bytes", "256KiB", "--dir"])
        .arg(dir)
        .assert()
        .success();
}

fn inspect(db: &Path) -> (i32, Value) {
    let output = springbloom().arg("inspect").arg(db).arg("--json").output().expect("run");
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
    let elastic = folder.path().join("elastic-6-ribbon-16-262144");
    let (code, document) = inspect(&elastic);
    assert_eq!(code, 0, "{document}");
    assert_eq!(sum(&document["tables"], "entries"), 30_000);
    assert_eq!(sum(&document["levels"], "entries"), 30_000);
    assert_eq!(sum(&document["levels"], "tables"), sum(&document["levels"], "tables_with_units"));
    // 30,000 records of 124 B in segments of 256 KiB.
    assert!((14..=24).contains(&sum(&document["levels"], "segments")), "{document}");
    let keys: u64 = (document["tables"].as_array().expect("tables").iter())
        .map(|table| sum(&table["units"]["segments"], "key_count"))
        .sum();
    assert_eq!(keys, 30_000);
    // 16 units of one bit per key, with some spare slots in each segment.
    let bits = sum(&document["levels"], "unit_bytes") as f64 * 8.0 / 30_000.0;
    assert!((16.0..17.5).contains(&bits), "{bits}");
    springbloom()
        .arg("inspect")
        .arg(&elastic)
        .assert()
        .success()
        .stdout(contains("sound").and(contains("level")));

    let (code, stock) = inspect(&folder.path().join("bloom-10"));
    assert_eq!(
        (code, sum(&stock["levels"], "tables_with_units"), sum(&stock["levels"], "segments")),
        (0, 0, 0)
    );
}

#[test]
fn damaged_units_are_found() {
    let folder = tempfile::tempdir().expect("folder");
    databases(folder.path());
    let elastic = folder.path().join("elastic-6-ribbon-16-262144");
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
    springbloom().arg("inspect").arg(&elastic).assert().code(1).stderr(contains("damaged"));
}

#[test]
fn what_is_no_database_is_refused() {
    let folder = tempfile::tempdir().expect("folder");
    springbloom()
        .arg("inspect")
        .arg(folder.path())
        .assert()
        .code(2)
        .stderr(contains("is not a RocksDB database"));
    springbloom()
        .args(["inspect", "/nonexistent"])
        .assert()
        .code(2)
        .stderr(contains("is not a RocksDB database"));
    springbloom().arg("inspect").assert().code(2);
}
