//! `springflash set` as scripts use it: what it prints, and its exit codes.

use std::path::Path;

use assert_cmd::Command;
use predicates::prelude::*;

fn set(directory: &Path, action: &str) -> Command {
    let mut command = Command::cargo_bin("springflash").expect("the program is built");
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
        .stderr(predicate::str::contains("is not empty"));
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
    set(directory.path(), "info").assert().success();
    set(directory.path(), "verify")
        .assert()
        .code(1)
        .stdout(predicate::str::contains("the header is damaged"));
    set(directory.path(), "repair").assert().success();
    set(directory.path(), "verify")
        .assert()
        .success()
        .stdout(predicate::str::contains("0 damaged and 1 lost sectors"));
    set(directory.path(), "check").arg("--quiet").write_stdin("a\n").assert().success();
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
fn a_set_of_another_size_is_copied_and_one_that_raises_the_rate_is_refused() {
    let [directory, smaller, worse] = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    create(directory.path());
    set(smaller.path(), "create").args(["--capacity", "2000", "--fpr", "0.001"]).assert().success();
    set(worse.path(), "create").args(["--capacity", "20000", "--fpr", "0.1"]).assert().success();
    set(directory.path(), "add").write_stdin(lines(0..1000)).assert().success();
    set(smaller.path(), "add").write_stdin(lines(1000..2000)).assert().success();
    set(worse.path(), "add").write_stdin(lines(0..20_000)).assert().success();
    let merge = |from: &Path| set(directory.path(), "merge").arg(from.join("urls")).assert();
    merge(smaller.path()).success();
    set(directory.path(), "check").write_stdin(lines(0..2000)).assert().success().stdout(lines(0..2000));
    merge(worse.path()).code(1).stderr(predicate::str::contains("springflash set check --also"));
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

#[test]
fn an_output_that_nobody_reads_any_more_ends_check_quietly_and_add_before_it_forgets_keys() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    let keys = directory.path().join("keys");
    std::fs::write(&keys, lines(0..50_000)).expect("keys");
    // Reads one line and closes the pipe, as `head -1` does.
    let first_line_of = |action: &str, option: &str| {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("springflash"))
            .args(["set", action, option])
            .args([&directory.path().join("urls"), &keys])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line, "https://example.org/0\n");
        let output = child.wait_with_output().expect("it ends");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(first_line_of("check", "--absent"), (Some(0), String::new()));
    let (code, message) = first_line_of("add", "--print-new");
    assert!(code == Some(1) && message.contains("were not added"), "{code:?}: {message}");
    // What could not be printed is still new: at least the last of the 50,000.
    let again = set(directory.path(), "add").arg("--print-new").arg(&keys).assert().success();
    assert!(again.get_output().stdout.ends_with(b"https://example.org/49999\n"));
    let all = set(directory.path(), "check").args(["--count"]).arg(&keys).assert().success();
    all.stdout("50000\n");
}

#[test]
fn counts_are_lines_and_a_dash_is_standard_input() {
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    set(directory.path(), "add").args(["-0", "-"]).write_stdin("a\nb\0c\0").assert().success();
    set(directory.path(), "check").args(["-0", "-c", "-"]).write_stdin("a\nb\0c\0d").assert().stdout("2\n");
    set(directory.path(), "check").arg("no-such-file").assert().code(2);
}

#[test]
fn keys_come_through_a_pipe_that_stays_open() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .args(["set", "add", "--print-new", "--line-buffered"])
        .arg(directory.path().join("urls"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program");
    let mut keys = child.stdin.take().expect("a pipe");
    let mut new = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for (key, is_new) in [("a", true), ("b", true), ("a", false), ("c", true)] {
        writeln!(keys, "{key}").and_then(|()| keys.flush()).expect("it reads");
        if is_new {
            assert_eq!(
                new.next().expect("a line").expect("text"),
                key,
                "printed before the next one is asked"
            );
        }
    }
    drop(keys);
    assert!(new.next().is_none() && child.wait().expect("it ends").success());
}

#[test]
fn what_cannot_be_merged_or_opened_says_why() {
    let directory = tempfile::tempdir().expect("a folder");
    let other = tempfile::tempdir().expect("a folder");
    create(directory.path());
    set(other.path(), "create").args(["--capacity", "200000", "--fpr", "0.001"]).assert().success();
    let merge = |from: &Path| set(directory.path(), "merge").arg(from.join("urls")).assert();
    merge(directory.path()).code(2).stderr(predicate::str::contains("into itself"));
    std::fs::remove_file(other.path().join("urls/wal-a")).expect("a log");
    let incomplete = set(other.path(), "info").assert().code(2);
    incomplete
        .stderr(predicate::str::contains("has no wal-a").and(predicate::str::contains("set repair --help")));
    let nothing = tempfile::tempdir().expect("a folder");
    set(nothing.path(), "create").args(["--capacity", "0"]).assert().code(2);
    assert!(!nothing.path().join("urls").exists(), "nothing is made for settings that cannot be");
}

#[test]
fn a_set_is_no_index_and_an_index_no_set() {
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    let program = || assert_cmd::Command::cargo_bin("springflash").expect("the program");
    let index = directory.path().join("index");
    program().args(["index", "create"]).arg(&index).assert().success();
    let set = directory.path().join("urls");
    for action in ["get", "put", "info", "verify"] {
        program()
            .args(["index", action])
            .arg(&set)
            .write_stdin("a\n")
            .assert()
            .code(2)
            .stderr(predicate::str::contains("is a set, expected an index"));
    }
    for action in ["check", "add", "info", "verify"] {
        program()
            .args(["set", action])
            .arg(&index)
            .write_stdin("a\n")
            .assert()
            .code(2)
            .stderr(predicate::str::contains("is an index, expected a set"));
    }
}

#[test]
fn a_growing_set_does_not_replace_files_of_others() {
    let directory = tempfile::tempdir().expect("a folder");
    set(directory.path(), "create").args(["--capacity", "100", "--grow"]).assert().success();
    let theirs = directory.path().join("urls/filter-0001");
    std::fs::write(&theirs, "precious").expect("a file");
    let keys: String = (0..1000).map(|n| format!("{n}\n")).collect();
    set(directory.path(), "add").write_stdin(keys).assert().failure();
    assert_eq!(std::fs::read(&theirs).expect("it is there"), b"precious");
}

/// A set for 1,000 keys, and a file of 5,000 keys.
fn small_set_and_keys() -> (tempfile::TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a folder");
    set(directory.path(), "create").args(["--capacity", "1000", "--fpr", "0.001"]).assert().success();
    let keys = directory.path().join("keys");
    std::fs::write(&keys, lines(0..5000)).expect("keys");
    (directory, keys)
}

#[test]
fn a_full_set_stops_at_the_line_that_finds_no_room_and_keeps_those_before_it() {
    for print_new in [false, true] {
        let (directory, keys) = small_set_and_keys();
        let mut add = set(directory.path(), "add");
        if print_new {
            add.arg("--print-new");
        }
        let stopped = add.arg(&keys).assert().code(1);
        let message = String::from_utf8_lossy(&stopped.get_output().stderr).into_owned();
        let (_, rest) = message.split_once("keys, line ").unwrap_or_else(|| panic!("{message}"));
        let line: u32 = rest.split(':').next().and_then(|n| n.parse().ok()).expect("a number");
        assert!((1001..1100).contains(&line), "{message}");
        assert!(
            message.contains("is full: it holds the 1000 keys") && message.contains("--grow"),
            "{message}"
        );
        let kept = lines(0..line - 1);
        let all = set(directory.path(), "check").write_stdin(kept.clone()).assert().success();
        all.stdout(kept.clone());
        if print_new {
            let printed = String::from_utf8_lossy(&stopped.get_output().stdout).into_owned();
            let missing = kept.lines().count() - printed.lines().count();
            assert!(missing < 20, "{missing} new keys were taken for known at a rate of 0.001");
            assert!(
                printed.lines().all(|key| kept.lines().any(|kept| kept == key)),
                "not added, but printed"
            );
        }
        // Keys of the set are no reason to stop.
        set(directory.path(), "add").write_stdin(lines(0..500)).assert().success();
        let absent = set(directory.path(), "check").arg("-c").write_stdin(lines(10_000..30_000)).assert();
        let wrong: u32 =
            String::from_utf8_lossy(&absent.get_output().stdout).trim().parse().expect("a count");
        assert!(wrong < 60, "{wrong} of 20,000 absent keys at a rate of 0.001");
    }
}

#[test]
fn a_full_set_goes_on_as_it_is_told() {
    let (directory, keys) = small_set_and_keys();
    set(directory.path(), "add").args(["--grow", "--over-capacity"]).arg(&keys).assert().code(2);
    set(directory.path(), "add").arg("--grow").arg(&keys).assert().success();
    let info = set(directory.path(), "info").arg("--json").assert().success();
    let info: serde_json::Value = serde_json::from_slice(&info.get_output().stdout).expect("JSON");
    assert!(info["filters"].as_array().expect("a list").len() >= 3, "{info}");
    assert!(info["estimated_fpr"].as_f64().expect("a rate") <= 0.0015, "{info}");
    set(directory.path(), "check").args(["-c"]).arg(&keys).assert().success().stdout("5000\n");
    // It goes on growing without the option.
    set(directory.path(), "add").write_stdin(lines(5000..20_000)).assert().success();

    let (directory, keys) = small_set_and_keys();
    let told = predicate::str::contains("more than the 1000 it was built for");
    set(directory.path(), "add").arg("--over-capacity").arg(&keys).assert().success().stderr(told.clone());
    set(directory.path(), "check").arg("-c").arg(&keys).assert().success().stdout("5000\n").stderr(told);
}

#[test]
fn a_union_that_finds_no_room_is_refused() {
    let ((directory, _), (other, _)) = (small_set_and_keys(), small_set_and_keys());
    set(directory.path(), "add").write_stdin(lines(0..800)).assert().success();
    set(other.path(), "add").write_stdin(lines(800..1600)).assert().success();
    let merge = || {
        let mut merge = set(directory.path(), "merge");
        merge.arg(other.path().join("urls"));
        merge
    };
    merge().assert().code(1).stderr(predicate::str::contains("was built for 1000 keys"));
    set(directory.path(), "check").arg("-q").write_stdin(lines(800..801)).assert().code(3);
    merge().arg("--over-capacity").assert().success();
    set(directory.path(), "check").arg("-c").write_stdin(lines(0..1600)).assert().stdout("1600\n");
}

#[test]
fn several_sets_are_checked_at_once() {
    let folders = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
    for (n, folder) in (0..).zip(&folders) {
        // The last one has other settings.
        set(folder.path(), "create").args(["--capacity", &format!("{}", 100_000 << n)]).assert().success();
        set(folder.path(), "add").write_stdin(lines(n * 1000..(n + 1) * 1000)).assert().success();
    }
    let [one, also, third] = folders.each_ref().map(|folder| folder.path().join("urls"));
    let check = |option: &str| {
        let mut check = set(folders[0].path(), "check");
        check.arg("--also").arg(&also).arg("--also").arg(&third).arg(option).write_stdin(lines(0..4000));
        check.assert().success()
    };
    let absent = String::from_utf8(check("-v").get_output().stdout.clone()).expect("lines");
    assert!(lines(3000..4000).contains(&absent[..200]) && absent.lines().count() > 990, "{absent}");
    let count = String::from_utf8(check("-c").get_output().stdout.clone()).expect("a number");
    assert!((3000..3010).contains(&count.trim().parse::<u32>().expect("a number")), "{count}");
    set(folders[0].path(), "check").arg("-c").write_stdin(lines(1000..3000)).assert().stdout("0\n").code(3);
    // The same set twice is looked at once more.
    set(folders[0].path(), "check")
        .arg("--also")
        .arg(&one)
        .write_stdin(lines(0..10))
        .assert()
        .stdout(lines(0..10));
    let missing =
        set(folders[0].path(), "check").args(["--also", "nowhere"]).write_stdin("a\n").assert().code(2);
    missing.stderr(predicate::str::contains("nowhere holds no set"));
}

#[test]
fn a_torn_copy_ends_with_code_1_and_is_salvaged() {
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    set(directory.path(), "add").write_stdin(lines(0..20_000)).assert().success();
    let pages = directory.path().join("urls/filter-0000");
    let earlier = std::fs::read(&pages).expect("pages");
    set(directory.path(), "add").write_stdin(lines(20_000..30_000)).assert().success();
    std::fs::write(&pages, earlier).expect("as a slow program copies them");
    let refused = set(directory.path(), "check").write_stdin("1\n").assert().code(1);
    refused.stderr(predicate::str::contains("was copied while it was written"));
    let salvaged = tempfile::tempdir().expect("a folder");
    let repaired = set(directory.path(), "repair").arg(salvaged.path().join("urls")).assert().code(1);
    repaired.stderr(predicate::str::contains("older than the log"));
    let found = set(salvaged.path(), "check").arg("--count").write_stdin(lines(0..20_000)).assert();
    found.success().stdout("20000\n");
}

/// What is printed with `--json`.
fn json_of(arguments: &[&str]) -> serde_json::Value {
    let told = Command::cargo_bin("springflash")
        .expect("the program is built")
        .args(arguments)
        .arg("--json")
        .assert()
        .success();
    serde_json::from_slice(&told.get_output().stdout).expect("JSON")
}

#[test]
fn a_plan_says_what_create_then_takes() {
    let directory = tempfile::tempdir().expect("a folder");
    create(directory.path());
    let bytes_of = |name: &str| directory.path().join("urls").join(name).metadata().expect("a file").len();
    let log = bytes_of("wal-a") + bytes_of("wal-b");
    let bytes = bytes_of("filter-0000") + log;
    let told = json_of(&["set", "plan", "--keys", "100000", "--fpr", "0.001", "--memory", "1MiB"]);
    assert_eq!((&told["disk_bytes"], &told["log_bytes"]), (&bytes.into(), &log.into()));
    assert_eq!(told["memory_bytes"], 1 << 20);
    // An index has a size without keys.
    let index = directory.path().join("index");
    for action in ["create", "put"] {
        let mut command = Command::cargo_bin("springflash").expect("the program is built");
        command.args(["index", action]).arg(&index).write_stdin("key\tvalue\n").assert().success();
    }
    let info = json_of(&["index", "info", index.to_str().expect("text")]);
    let told = json_of(&["index", "plan", "--keys", "1"]);
    assert_eq!(told["disk_bytes"], info["log_bytes"]);
    let [told, taken] = [&told, &info].map(|told| told["memory_bytes"].as_f64().expect("a number"));
    assert!((taken..1.1 * taken).contains(&told), "{told} of {taken}");
    // Ten times the keys take ten times as much.
    for (kind, fields) in [("set", &["check_seconds"][..]), ("index", &["disk_bytes", "put_seconds"])] {
        let [few, many] = ["1e8", "1e9"].map(|keys| json_of(&[kind, "plan", "--keys", keys]));
        for field in fields {
            let times = many[field].as_f64().unwrap_or_default() / few[field].as_f64().unwrap_or(1.0);
            assert!((9.0..11.0).contains(&times), "{field}: {few} {many}");
        }
    }
    // More memory writes less, in less time.
    let [little, much] =
        ["16MiB", "256MiB"].map(|memory| json_of(&["set", "plan", "--keys", "2e9", "--memory", memory]));
    for field in ["written_bytes", "add_seconds"] {
        let times = little[field].as_f64().unwrap_or_default() / much[field].as_f64().unwrap_or(1.0);
        assert!((3.0..50.0).contains(&times), "{field}: {little} {much}");
    }
    let told = Command::cargo_bin("springflash")
        .expect("the program is built")
        .args(["set", "plan", "--keys", "2e9"])
        .assert();
    let rows = ["16 MiB of memory: 2.5", "6.76 GiB of disk, 4.51 GiB of it for the log"]
        .map(predicate::str::contains);
    let [little, much] = rows;
    told.success().stdout(little.and(much).and(predicate::str::contains("of one machine")));
}
