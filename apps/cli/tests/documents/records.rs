//! Records can be measured again.

use std::path::{Path, PathBuf};
use std::{fs, process};

use assert_cmd::cargo::cargo_bin;
use serde_json::Value;

use crate::commits::is_ancestor;
use crate::{expect_none, root};

fn records() -> PathBuf {
    root().join("docs/records")
}

fn springbloom(arguments: &[&str], records: &Path) -> Vec<u8> {
    let output = process::Command::new(cargo_bin("springbloom"))
        .args(arguments)
        .arg("--records")
        .arg(records)
        .output()
        .expect("the program is built");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn records_are_of_committed_sources() {
    let mut complaints = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(records()).expect("the folder of records") {
        let path = entry.expect("an entry").path();
        for line in fs::read_to_string(&path).expect("a file of records").lines() {
            let record: Value = serde_json::from_str(line).expect("a record is JSON");
            let commit = record["build"]["commit"].as_str().unwrap_or_default();
            let is_modified = record["build"]["modified"].as_bool() != Some(false);
            if is_modified || is_ancestor(commit) == Some(false) {
                let (path, run) = (path.display(), &record["run"]);
                complaints.push(format!("{path}, {run}: {commit:?}, modified: {is_modified}"));
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count} records");
    expect_none(&complaints);
}

#[test]
fn each_figure_of_a_paper_that_does_not_hold_says_why() {
    let judged = springbloom(&["reproduce", "all", "--no-run", "--any-commit"], &records());
    let judged = String::from_utf8(judged).expect("text");
    let fail: Vec<_> = judged.lines().filter(|line| line.starts_with("  does not hold")).collect();
    assert!(fail.len() > 20, "{judged}");
    let says_why = |line: &&str| line.split_once("it is not ").is_some_and(|(_, why)| why.contains(": "));
    let complaints: Vec<_> = fail.into_iter().filter(|line| !says_why(line)).map(str::to_owned).collect();
    expect_none(&complaints);
}
