//! `springbloom set` as scripts use it: what it prints, and its exit codes.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;

fn set(directory: &Path, action: &str) -> Command {
    let mut command = Command::cargo_bin("springbloom").expect("the program is built");
    command.arg("set").arg(action).arg(directory.join("urls")).args(["--memory", "1MiB"]);
    command
}

fn create(directory: &Path) {
    set(directory, "create").args(["--capacity", "100000", "--fpr", "0.001"]).assert().success();
}

fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|n| format!("https://example.org/{n}\n")).collect()
}

#[test]
fn keys_that_were_added_are_found_and_others_are_filtered_out() {
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    set(directory.path(), "add").write_stdin(lines(0..20_000)).assert().success().stdout("");
    set(directory.path(), "check").write_stdin(lines(0..20_000)).assert().success().stdout(lines(0..20_000));
    let absent =
        set(directory.path(), "check").arg("-v").write_stdin(lines(20_000..30_000)).assert().success();
    let printed = absent.get_output().stdout.split(|byte| *byte == b'\n').count();
    assert!((9_970..=10_001).contains(&printed), "{printed} of 10,000 at a rate of 0.001 and below");
    let count = set(directory.path(), "check").arg("--count").write_stdin(lines(5..15)).assert().success();
    count.stdout("10\n");
}

#[test]
fn exit_codes_tell_scripts_what_happened() {
    let directory = tempfile::tempdir().expect("a folder");
    let missing = set(directory.path(), "check").write_stdin("a\n").assert().code(2);
    missing.stderr(predicate::str::contains("set create"));
    create(directory.path());
    set(directory.path(), "create")
        .args(["--capacity", "10"])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("exists"));
    set(directory.path(), "check").arg("--quiet").write_stdin("a\n").assert().code(3).stdout("");
    set(directory.path(), "add").write_stdin("a\n").assert().success();
    set(directory.path(), "check").arg("--quiet").write_stdin("a\n").assert().success().stdout("");
    set(directory.path(), "check").arg("--absent").write_stdin("a\n").assert().code(3);
    set(directory.path(), "verify").assert().success();
    set(directory.path(), "check").args(["--memory", "1k"]).assert().code(2);
    let file = directory.path().join("urls/filter-0000");
    let mut bytes = std::fs::read(&file).expect("the filter");
    bytes[10_000] ^= 1;
    std::fs::write(&file, &bytes).expect("damage");
    set(directory.path(), "verify").assert().code(1).stdout(predicate::str::contains("1 damaged"));
    bytes[..8].copy_from_slice(b"whatever");
    std::fs::write(&file, &bytes).expect("damage");
    set(directory.path(), "info").assert().code(2).stderr(predicate::str::contains("it begins with"));
}

#[test]
fn new_keys_are_printed_once_over_several_runs() {
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    let add = |input: &str| {
        let mut command = set(directory.path(), "add");
        command.arg("--print-new").write_stdin(input.to_owned()).assert()
    };
    add("b\na\nb\nb\nc\n").success().stdout("b\na\nc\n");
    add("c\nd\na\n").success().stdout("d\n");
    add("a\nb\n").code(3).stdout("");
}

#[test]
fn keys_may_hold_newlines_when_nul_separates_them_and_come_from_files() {
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    let keys = directory.path().join("keys");
    std::fs::write(&keys, b"one\ntwo\0three\0").expect("keys");
    set(directory.path(), "add").arg("-0").arg(&keys).assert().success();
    let check = set(directory.path(), "check").arg("--null").write_stdin("three\0one\0one\ntwo").assert();
    check.success().stdout("three\0one\ntwo\0");
}

#[test]
fn info_and_merge() {
    let directory = tempfile::tempdir().expect("a folder");
    let other = tempfile::tempdir().expect("a folder");
    for folder in [&directory, &other] {
        create(folder.path());
    }
    set(directory.path(), "add").write_stdin(lines(0..1000)).assert().success();
    set(other.path(), "add").write_stdin(lines(500..2000)).assert().success();
    set(directory.path(), "merge").arg(other.path().join("urls")).assert().success();
    set(directory.path(), "check").write_stdin(lines(0..2000)).assert().success().stdout(lines(0..2000));
    let info = set(directory.path(), "info").arg("--json").assert().success();
    let info: serde_json::Value = serde_json::from_slice(&info.get_output().stdout).expect("JSON");
    let keys = info["filters"][0]["estimated_keys"].as_f64().expect("a number");
    assert!((1900.0..2100.0).contains(&keys), "{info}");
    assert_eq!(info["filters"][0]["capacity_keys"], 100_000);
}
