//! `springbloom reproduce` and `springbloom report`.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use predicates::prelude::*;
use predicates::str::contains;

use crate::common::{json, refused, springbloom};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Puts the record of a tiny simulation into a file of records, as that of run `run`, in place of those of `instead`.
fn simulate(file: &Path, run: &str, instead: &[&str], arguments: &str) {
    let tiny = "simulate --segments 50 --records 1M --lookups 2000";
    let mut record = json(&mut springbloom(&format!("{tiny} {arguments}")));
    record["run"] = run.into();
    let is_of = |line: &str, run: &&str| line.contains(&format!("\"run\":\"{run}\""));
    let there = fs::read_to_string(file).unwrap_or_default();
    let kept = there.lines().filter(|line| !instead.iter().any(|run| is_of(line, run)));
    let lines: Vec<_> = kept.map(str::to_owned).chain([record.to_string()]).collect();
    fs::write(file, lines.join("\n")).expect("write");
}

#[test]
fn experiments_are_listed_with_what_cannot_be_measured() {
    springbloom("reproduce --list").assert().success().stdout(
        contains("atc19-fig10a")
            .and(contains("Not here: Nobody maintains MongoDB"))
            .and(contains("bloomflash-fig4")),
    );
}

#[test]
fn experiments_that_are_named_are_listed_alone() {
    springbloom("reproduce --list atc19-fig6")
        .assert()
        .success()
        .stdout(contains("atc19-fig6").and(contains("atc19-fig10a").not()));
    let error = springbloom("reproduce fig99").assert().code(2).get_output().stderr.clone();
    springbloom("reproduce --list fig99").assert().code(2).stderr(error).stdout("");
}

#[test]
fn wrong_usage_is_refused_with_what_is_expected() {
    for (arguments, said) in [
        ("reproduce", "ID"),
        ("reproduce fig99", "--list"),
        ("reproduce --list --quick", "'--list' cannot be used with '--quick'"),
        ("reproduce all --again --any-commit", "cannot be used with"),
        ("report --records /nowhere --markdown memory", "springbloom reproduce"),
        ("report", "--markdown"),
    ] {
        refused(&mut springbloom(arguments), said);
    }
    let folder = tempfile::tempdir().expect("folder");
    let mistyped = folder.path().join("recrods");
    refused(springbloom("reproduce all --no-run --records").arg(&mistyped), "is no folder");
    assert!(!mistyped.exists());
    refused(
        springbloom("report --markdown memory --records").arg(folder.path()),
        "has no records of full runs: run",
    );
    simulate(&folder.path().join("mine.jsonl"), "mine", &[], "--bits 4 --filters bloom");
    fs::write(folder.path().join("bad.jsonl"), "{\"run\": \"bad\"}\n").expect("write");
    let said = contains("bad.jsonl").and(contains("no record"));
    springbloom("report --markdown memory --records").arg(folder.path()).assert().code(2).stderr(said);
}

#[test]
fn finished_runs_are_kept_and_judged() {
    let folder = tempfile::tempdir().expect("folder");
    let (records, databases) = (folder.path().join("records"), folder.path().join("databases"));
    let flags = ["--quick", "--records", text(&records), "--dir", text(&databases)];
    // The cheapest experiment: simulated, with a run for each of four popularities.
    let reproduce = || {
        let mut command = springbloom("reproduce atc19-fig6");
        command.args(flags);
        command
    };
    reproduce()
        .assert()
        .success()
        .stdout(contains("atc19-fig6: holds in").and(contains("paper 55.9%")))
        .stderr(contains("[1/4] known-counts-uniform: springbloom simulate"));
    reproduce().assert().success().stderr(contains("kept from").and(contains("[1/4]").not()));
    // A run that was interrupted is the only one that runs again, and one of other settings too.
    let lost = ["known-counts-zipf-1.1", "known-counts-uniform"];
    simulate(&records.join("atc19.quick.jsonl"), "known-counts-uniform", &lost, "--bits 4 --filters bloom");
    reproduce()
        .assert()
        .success()
        .stderr(contains("other settings").and(contains("[3/4]")).and(contains("[2/4]").not()));
    reproduce().arg("--no-run").assert().success().stdout(contains("here").and(contains("it is")));
}

/// However the command ends, what it started ends too, and no other command disturbs it before.
#[test]
fn a_run_ends_with_the_command_that_started_it() {
    let folder = tempfile::tempdir().expect("folder");
    let (records, databases) = (folder.path().join("records"), folder.path().join("databases"));
    let arguments =
        ["reproduce", "--quick", "atc19-intro", "--records", text(&records), "--dir", text(&databases)];
    let mut first = std::process::Command::new(assert_cmd::cargo::cargo_bin("springbloom"))
        .args(arguments)
        .stderr(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program");
    let tree = databases.join("leveldb-quick");
    let is_free = || springbloom_console::folder::lock(&tree, "anybody").is_ok();
    let wait_for = |what: &str, is_so: &dyn Fn() -> bool| {
        let started = Instant::now();
        while !is_so() {
            assert!(started.elapsed() < Duration::from_secs(60), "{what}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("a run that loads", &|| tree.join("tree").exists() && !is_free());
    refused(springbloom("").args(arguments), "in use by another springbloom reproduce");
    assert!(tree.join("tree").exists(), "it is left alone");
    first.kill().and_then(|()| first.wait()).expect("killed");
    wait_for("the run to end", &is_free);
    assert!(tree.exists(), "what an interrupted run left is there for the next one");
}

#[test]
fn a_run_that_fails_does_not_end_the_others() {
    let folder = tempfile::tempdir().expect("folder");
    // Records cannot be written.
    fs::create_dir(folder.path().join("atc19.quick.jsonl.part")).expect("a folder in its place");
    springbloom("reproduce --quick atc19-fig6")
        .args(["--records", text(folder.path()), "--dir", text(&folder.path().join("databases"))])
        .assert()
        .code(1)
        .stderr(
            contains("known-counts-uniform: cannot write")
                .and(contains("[4/4] known-counts-zipf-1.2"))
                .and(contains("4 of 4 runs failed: known-counts-uniform")),
        )
        .stdout(contains("atc19-fig6: not measured"));
}

#[test]
fn tables_are_made_of_records() {
    let folder = tempfile::tempdir().expect("folder");
    let file = folder.path().join("springbloom.quick.jsonl");
    simulate(&file, "simulated-uniform", &[], "--bits 4 --filters benefit,bloom");
    let records = ["--quick", "--records", text(folder.path())];
    springbloom("report --markdown simulated-popularity").args(records).assert().success().stdout(
        contains("| wasted reads per lookup | `benefit` | `bloom` |").and(contains("\n| uniform | 0.")),
    );
    refused(springbloom("report --markdown memory").args(records), "reproduce memory");
}
