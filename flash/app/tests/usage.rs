//! What the program says to wrong and to absurd arguments, what it leaves behind, and what it does when nobody reads its output.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn springflash(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springflash").expect("the program is built");
    command.args(arguments);
    command
}

/// A set and an index with some keys, and files of lines, in a folder of their own.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let run = |arguments: &[&str], input: &str| {
        springflash(arguments).current_dir(dir.path()).write_stdin(input.to_owned()).assert().success();
    };
    let lines: String = (0..50_000).map(|n| format!("key {n}\n")).collect();
    fs::write(dir.path().join("lines"), &lines).expect("lines");
    run(&["set", "create", "set", "--capacity", "1e5"], "");
    run(&["set", "add", "set"], &lines);
    run(&["index", "create", "index"], "");
    run(&["index", "put", "index"], &lines);
    fs::create_dir(dir.path().join("tree")).expect("a folder");
    fs::write(dir.path().join("tree/file"), &lines).expect("a file");
    dir
}

/// Runs the command and closes both of its outputs before it can write.
fn unread(dir: &Path, arguments: &[&str]) -> Option<i32> {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .args(arguments)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    drop((child.stdout.take(), child.stderr.take()));
    drop(child.stdin.take());
    child.wait().expect("it ends").code()
}

#[test]
fn commands_whose_output_nobody_reads_end_as_they_would_have_ended() {
    let dir = folder();
    for arguments in [
        &["set", "info", "set"][..],
        &["set", "info", "set", "--json"],
        &["set", "verify", "set"],
        &["set", "check", "set", "lines"],
        &["set", "check", "set", "lines", "--count"],
        &["set", "create", "other", "--capacity", "1000"],
        &["index", "info", "index"],
        &["index", "verify", "index"],
        &["index", "info", "index", "--json"],
        &["index", "get", "index", "lines"],
        &["index", "compact", "index"],
        &["set", "--help"],
    ] {
        assert_eq!(unread(dir.path(), arguments), Some(0), "{arguments:?}");
    }
    assert_eq!(unread(dir.path(), &["set", "info", "nothing"]), Some(2));
    assert_eq!(unread(dir.path(), &["set", "check", "set", "-q", "tree/file"]), Some(0));
}

#[test]
fn damage_is_told_by_the_exit_code_though_nobody_reads_the_report() {
    let dir = folder();
    let file = dir.path().join("set/filter-0000");
    let mut bytes = fs::read(&file).expect("the filter");
    bytes[10_000] ^= 1;
    fs::write(&file, &bytes).expect("damage");
    assert_eq!(unread(dir.path(), &["set", "verify", "set"]), Some(1));
}

#[test]
fn a_closed_output_is_an_error_before_anything_is_done() {
    let dir = folder();
    let program = assert_cmd::cargo::cargo_bin("springflash");
    for arguments in [
        "set add set --print-new tree/new",
        "set check set lines",
        "index get index lines",
        "set info set",
        "--version",
    ] {
        fs::write(dir.path().join("tree/new"), "new key\n").expect("a file");
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("exec \"$0\" {arguments} >&-")])
            .arg(&program)
            .current_dir(dir.path())
            .output()
            .expect("a shell");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {message}");
        assert!(message.contains("standard output is closed, expected an open one"), "{message}");
    }
    assert!(!dir.path().join("chunks").exists());
    springflash(&["set", "check", "set", "--absent", "tree/new"])
        .current_dir(dir.path())
        .assert()
        .stdout("new key\n");
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let dir = folder();
    for arguments in [
        &["set", "info", "set"][..],
        &["set", "check", "set", "lines"],
        &["index", "get", "index", "lines"],
        &["set", "--help"],
        &["--version"],
    ] {
        let output: Output = std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
            .args(arguments)
            .current_dir(dir.path())
            .stdout(fs::File::options().write(true).open("/dev/full").expect("a full device"))
            .output()
            .expect("the program");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {message}");
        assert!(message.contains("cannot write to standard output"), "{message}");
        assert_eq!(message.matches("os error").count(), 1, "the cause is told once: {message}");
    }
}

#[test]
fn wrong_usage_that_cannot_be_told_keeps_its_exit_code() {
    let told = std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .arg("--nonsense")
        .stderr(fs::File::options().write(true).open("/dev/full").expect("a full device"))
        .status()
        .expect("the program");
    assert_eq!(told.code(), Some(2));
}

#[test]
fn absurd_arguments_get_a_sentence() {
    let dir = folder();
    let huge = u64::MAX.to_string();
    for (arguments, expected) in [
        (&["set", "check", "set", "--memory", "200T"][..], "more than the memory of this machine"),
        (
            &["set", "create", "new", "--capacity", "1e5", "--memory", "200T"],
            "more than the memory of this machine",
        ),
        (&["set", "check", "set", "--cache", "17M"], "must be less than --memory 16 MiB"),
        (&["set", "check", "set", "--memory", "0"], "too small"),
        (&["set", "create", "new", "--capacity", "0"], "at least one key"),
        (&["set", "create", "new", "--capacity", "1e30"], "less than 2^64"),
        (&["set", "create", "new", "--capacity", &huge], "less than 2^32 pages"),
        (&["set", "create", "new", "--capacity", "many"], "expected a number such as"),
        (&["set", "plan", "--keys", "many"], "expected a number such as"),
        (&["set", "plan", "--keys", "0"], "at least one key"),
        (&["set", "plan", "--keys", "1e9", "--fpr", "1"], "between 0 and 1"),
        (&["set", "plan", "--keys", "1e9", "--memory", "1k"], "too small"),
        (&["set", "plan", "--keys", &huge], "less than 2^32 pages"),
        (&["index", "plan", "--keys", "0"], "at least 1"),
        (&["index", "plan", "--keys", "1e30"], "less than 2^64"),
        (&["index", "plan", "--keys", &huge], "less than 2^64 bytes"),
    ] {
        let refused = springflash(arguments).current_dir(dir.path()).write_stdin("").assert().code(2);
        refused.stderr(contains(expected).and(contains("panicked").not()));
    }
}

#[test]
fn files_and_folders_that_cannot_be_used_are_bad_input_and_told_once() {
    let dir = folder();
    for arguments in [
        &["set", "check", "set", "missing"][..],
        &["set", "check", "set", "tree"],
        &["set", "info", "lines"],
        &["index", "info", "lines"],
        &["index", "get", "missing", "lines"],
        &["set", "create", "lines", "--capacity", "10"],
        &["set", "create", "/proc/new", "--capacity", "10"],
    ] {
        let refused = springflash(arguments).current_dir(dir.path()).write_stdin("").assert().code(2);
        let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(message.matches("os error").count() <= 1, "the cause is told once: {message}");
    }
}

#[test]
fn every_help_has_the_exit_codes() {
    for arguments in [&["--help"][..], &["set", "--help"], &["set", "add", "--help"], &["index", "-h"]] {
        springflash(arguments).assert().success().stdout(contains("3  `set check`"));
    }
}

#[test]
fn create_takes_no_folder_that_holds_something() {
    let dir = tempfile::tempdir().expect("a folder");
    for name in ["records", "log-a", "notes"] {
        fs::write(dir.path().join(name), "mine").expect("a file");
    }
    let folder = dir.path().to_str().expect("text");
    for arguments in [&["set", "create", folder, "--capacity", "10"][..], &["index", "create", folder]] {
        let refused = springflash(arguments).assert().code(2);
        refused.stderr(contains("is not empty: it holds log-a, notes, records"));
    }
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 3);
    for name in ["records", "log-a", "notes"] {
        assert_eq!(fs::read(dir.path().join(name)).expect("a file"), b"mine");
    }
    // An empty folder will do.
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    springflash(&["set", "create", "--capacity", "10"]).arg(&empty).assert().success();
}

#[test]
fn a_create_that_fails_leaves_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let program = assert_cmd::cargo::cargo_bin("springflash");
    fs::create_dir(dir.path().join("empty")).expect("a folder");
    // Files of more than a megabyte cannot be written, as on a full disk.
    for folder in ["new", "empty"] {
        let output = std::process::Command::new("bash")
            .args(["-c", "ulimit -f 1000; trap '' XFSZ; exec \"$0\" set create \"$1\" --capacity 1e7"])
            .arg(&program)
            .arg(folder)
            .current_dir(dir.path())
            .output()
            .expect("a shell");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_eq!(message.matches("os error").count(), 1, "{message}");
    }
    assert!(!dir.path().join("new").exists());
    assert_eq!(fs::read_dir(dir.path().join("empty")).expect("it was there before").count(), 0);
}

#[test]
fn a_command_makes_the_folder_that_it_is_given_and_none_above() {
    let dir = folder();
    for arguments in [
        &["set", "create", "a/b/new", "--capacity", "10"][..],
        &["set", "repair", "set", "a/b/new"],
        &["index", "create", "a/b/new"],
        &["index", "repair", "index", "a/b/new"],
    ] {
        let refused = springflash(arguments).current_dir(dir.path()).assert().code(2);
        refused.stderr(contains("cannot create a/b/new: there is no folder a/b;"));
        assert!(!dir.path().join("a").exists(), "{arguments:?}");
    }
}

/// The files of a folder, with their contents.
fn contents(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.map(|file| (file.clone(), fs::read(file).expect("a file"))).collect();
    files.sort();
    files
}

#[test]
fn what_is_repaired_is_not_salvaged_into_itself() {
    let dir = folder();
    std::os::unix::fs::symlink("set", dir.path().join("link")).expect("a link");
    for (kind, to) in [("set", "set"), ("set", "./set/"), ("set", "link"), ("index", "index")] {
        let before = contents(&dir.path().join(kind));
        let refused = springflash(&[kind, "repair", kind, to]).current_dir(dir.path()).assert().code(2);
        let told = format!("{to} is the damaged {kind} itself, expected a new or empty folder");
        refused.stderr(contains(told).and(contains(format!("`springflash {kind} repair {kind}`"))));
        assert!(before == contents(&dir.path().join(kind)), "{kind} repair {kind} {to}: files have changed");
    }
}

#[test]
fn errors_begin_with_the_name_of_the_program() {
    springflash(&["set", "info", "nothing"])
        .assert()
        .code(2)
        .stderr(predicates::str::starts_with("springflash: "));
}
