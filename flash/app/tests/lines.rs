//! How `springflash set` and `springflash index` take their lines: bad ones, endless ones, those of other systems.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn springflash(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springflash").expect("the program is built");
    command.args(arguments);
    command
}

/// A folder with an empty set and an empty index, and their names.
fn set_and_index() -> (tempfile::TempDir, String, String) {
    let dir = tempfile::tempdir().expect("a folder");
    let [set, index] = ["set", "index"].map(|name| dir.path().join(name).to_str().expect("text").to_owned());
    springflash(&["set", "create", &set, "--capacity", "100k", "--fpr", "0.000001"]).assert().success();
    springflash(&["index", "create", &index]).assert().success();
    (dir, set, index)
}

fn file(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path
}

#[test]
fn a_bad_line_stops_after_the_lines_before_it_are_durable_and_is_named() {
    let (dir, _, index) = set_and_index();
    let pairs: String =
        (1..=20_000).map(|n| if n == 9_000 { "\tv\n".into() } else { format!("k{n}\tv\n") }).collect();
    let pairs = file(dir.path(), "pairs", pairs.as_bytes());
    let put = springflash(&["index", "put", &index]).arg(&pairs).assert().code(2);
    put.stderr(
        contains("pairs, line 9000: there is no key before the first tab")
            .and(contains("the 8999 lines before it were put into the index")),
    );
    let get = |key: &str| springflash(&["index", "get", &index]).write_stdin(key.to_owned()).assert();
    get("k8999\nk1\n").success().stdout("k8999\tv\nk1\tv\n");
    get("k9001\n").code(3);
}

#[test]
fn the_lines_before_a_bad_one_are_answered() {
    let (_dir, set, index) = set_and_index();
    springflash(&["index", "put", &index]).write_stdin("a\t1\nb\t2\n").assert().success();
    let get = |keys: String| springflash(&["index", "get", &index]).write_stdin(keys).assert().code(2);
    get("a\n\nb\n".to_owned())
        .stdout("a\t1\n")
        .stderr(contains("standard input, line 2").and(contains("empty")));
    get(format!("a\nb\n{}\na\n", "x".repeat(65_537)))
        .stdout("a\t1\nb\t2\n")
        .stderr(contains("line 3: the key has 65537 bytes, expected 1 to 65536"));
    springflash(&["index", "delete", &index]).write_stdin("a\n\nb\n").assert().code(2);
    springflash(&["index", "get", &index]).write_stdin("a\nb\n").assert().code(0).stdout("b\t2\n");
    // In a set the empty line is a key; a line is bad when it is too long.
    let too_long = "y".repeat((1 << 20) + 1);
    let add =
        springflash(&["set", "add", &set]).write_stdin(format!("a\n\n{too_long}\nb\n")).assert().code(2);
    add.stderr(
        contains("line 3: the line is longer than 1048576 bytes")
            .and(contains("the 2 lines before it were added")),
    );
    springflash(&["set", "check", &set]).write_stdin("\na\nb\n").assert().code(0).stdout("\na\n");
}

#[test]
fn lines_of_other_systems_are_the_same_keys() {
    let (_dir, set, index) = set_and_index();
    springflash(&["set", "add", &set]).write_stdin("a\r\nb\r\nc").assert().success();
    springflash(&["set", "check", &set]).write_stdin("a\nb\r\nc\n").assert().success().stdout("a\nb\nc\n");
    springflash(&["index", "put", &index]).write_stdin("a\t1\r\n").assert().success();
    springflash(&["index", "get", &index]).write_stdin("a\n").assert().success().stdout("a\t1\n");
    // Between NULs any byte is part of the key.
    springflash(&["set", "check", "-0", &set]).write_stdin("a\r\0").assert().code(3);
}

#[test]
fn what_was_read_before_an_unreadable_file_is_durable() {
    let (dir, set, _) = set_and_index();
    let keys = file(dir.path(), "keys", b"a\nb\n");
    let add = |second: &str, code: i32| {
        springflash(&["set", "add", &set]).arg(&keys).arg(second).current_dir(dir.path()).assert().code(code)
    };
    add("missing", 2).stderr(contains("cannot read missing"));
    add(".", 2).stderr(contains("directory"));
    // Told before anything is done.
    springflash(&["set", "check", "-c", &set]).write_stdin("a\nb\n").assert().stdout("0\n");
    // On Linux, a file that can be opened and not read.
    add("/proc/self/mem", 1).stderr(contains("the 2 lines before it were added to the set"));
    springflash(&["set", "check", "-c", &set]).write_stdin("a\nb\n").assert().stdout("2\n");
}

/// Peak memory of a process that has not been waited for.
fn peak_bytes(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// Feeds `times` times `piece` to the command and returns its peak memory while its input is still open.
fn peak_after(arguments: &[&str], piece: &[u8], times: usize) -> u64 {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    let mut input = child.stdin.take().expect("a pipe");
    for _ in 0..times {
        std::io::Write::write_all(&mut input, piece).expect("it reads");
    }
    let peak = peak_bytes(&child);
    drop(input);
    child.wait().expect("it ends");
    peak
}

#[test]
fn memory_does_not_follow_the_length_of_lines() {
    let (_dir, set, index) = set_and_index();
    let short = peak_after(&["set", "check", &set], &b"short\n".repeat(100_000), 10);
    let wide = [vec![b'w'; 256 << 10], b"\n".to_vec()].concat();
    let (lines, bytes) = (1000, 32 << 20);
    let many_wide = peak_after(&["set", "check", &set], &wide, lines);
    assert!(
        many_wide < short + bytes,
        "{many_wide} bytes for {lines} lines of 256 KiB, {short} for short ones"
    );
    // The values of many keys.
    let pair = [&b"key\t"[..], &vec![b'v'; 60_000], b"\n"].concat();
    springflash(&["index", "put", &index]).write_stdin(pair).assert().success();
    let values = peak_after(&["index", "get", &index], &b"key\n".repeat(8192), 1);
    assert!(
        values < short + 3 * bytes,
        "{values} bytes for 8,192 values of 60,000 bytes, {short} for short keys"
    );
}

#[test]
fn a_line_without_end_stops_the_command_that_reads_it() {
    let (_dir, set, _) = set_and_index();
    let mut yes = std::process::Command::new("sh")
        .args(["-c", "yes | tr -d '\\n'"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .args(["set", "add", &set])
        .stdin(yes.stdout.take().expect("a pipe"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut message = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut message).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    assert!(message.contains("standard input, line 1: the line is longer than"), "{message}");
    yes.wait().expect("it ends with its reader");
}
