//! `springflash dedup scan`: which files it takes, which it leaves out, and what it says about them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

fn noise(seed: u64, len: u64) -> Vec<u8> {
    let word = |n: u64| (seed << 40 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    (0..len / 8).flat_map(|n| word(n).to_le_bytes()).collect()
}

/// A folder with files below `tree`.
fn tree(files: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a folder");
    let tree = dir.path().join("tree");
    for (name, bytes) in files {
        let path = tree.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("a file");
    }
    (dir, tree)
}

fn scan(index: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springflash").expect("the program is built");
    command.args(["dedup", "scan", "--index"]).arg(index).args(arguments);
    command
}

fn report(mut scan: Command, code: i32) -> Value {
    let output = scan.arg("--json").assert().code(code).get_output().stdout.clone();
    serde_json::from_slice(&output).expect("JSON")
}

#[test]
fn the_index_is_never_scanned() {
    let (_dir, tree) = tree(&[("file", &noise(1, 100_000))]);
    fs::create_dir(tree.join("below")).expect("a folder");
    let index = tree.join("below/index");
    let text = tree.to_str().expect("text");
    for _ in 0..2 {
        let report = report(scan(&index, &[text]), 0);
        assert_eq!((&report["files"], &report["total"]["bytes"]), (&json!(1), &json!(100_000)));
    }
    fs::hard_link(index.join("records"), tree.join("linked")).expect("a link");
    assert_eq!(report(scan(&index, &[text]), 0)["files"], 1);
    std::os::unix::fs::symlink(&index, tree.join("link")).expect("a link");
    let inside = [index.clone(), index.join("records"), tree.join("link"), tree.join("link/records")];
    for path in inside {
        scan(&index, &[path.to_str().expect("text")])
            .assert()
            .code(2)
            .stderr(contains("belongs to the index itself"));
    }
    let records = fs::File::open(index.join("records")).expect("a file");
    let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .args(["dedup", "scan", "-", "--index"])
        .arg(&index)
        .stdin(records)
        .output();
    assert_eq!(output.expect("the program").status.code(), Some(2));
}

#[test]
fn a_file_of_several_names_is_counted_once() {
    let (_dir, tree) = tree(&[("one", &noise(1, 80_000)), ("other", &noise(2, 40_000))]);
    fs::hard_link(tree.join("one"), tree.join("two")).expect("a link");
    fs::hard_link(tree.join("one"), tree.join("three")).expect("a link");
    let text = tree.to_str().expect("text");
    let again = format!("{text}/../tree");
    let report = report(scan(&tree.with_file_name("index"), &[text, &again, "--duplicates"]), 0);
    assert_eq!(report["total"]["bytes"], 120_000);
    assert_eq!(report["total"]["new_bytes"], 120_000, "{report}");
    assert_eq!((&report["hard_links"], &report["hard_link_bytes"]), (&json!(2), &json!(160_000)));
    assert_eq!(report["duplicates"], json!([]));
}

#[test]
fn excluded_files_and_pseudo_file_systems_are_left_out() {
    let one = noise(1, 1000);
    let (dir, tree) =
        tree(&[("a.log", &one), ("keep.log", &one), ("target/x", &one), ("sub/target/y", &one), ("b", &one)]);
    let index = dir.path().join("index");
    let text = tree.to_str().expect("text");
    let files =
        |arguments: &[&str]| report(scan(&index, &[&[text], arguments].concat()), 0)["files"].as_u64();
    assert_eq!(files(&[]), Some(5));
    assert_eq!(files(&["--exclude", "*.log", "--exclude", "!keep.log"]), Some(4));
    assert_eq!(files(&["--exclude", "/target"]), Some(4));
    assert_eq!(files(&["--exclude", "target/"]), Some(3));
    assert_eq!(files(&["--one-file-system"]), Some(5));
    scan(&index, &["/proc"]).assert().code(2).stderr(contains("pseudo file system (proc)"));
    scan(&index, &["/proc/cpuinfo"]).assert().code(2);
}

#[test]
fn groups_of_duplicate_files_are_listed() {
    let (large, small) = (noise(1, 100_000), noise(2, 5000));
    let (dir, tree) = tree(&[
        ("a", &large),
        ("sub/b", &large),
        ("c", &small),
        ("d\n\x1b[31m", &small),
        ("sub/e", &small),
        ("f", &noise(3, 5000)),
        ("empty", b""),
        ("empty too", b""),
    ]);
    let name = |file: &str| tree.join(file).to_str().expect("text").to_owned();
    let index = dir.path().join("index");
    let text = tree.to_str().expect("text");
    let report = report(scan(&index, &[text, "--duplicates"]), 0);
    let expected = json!([
        { "bytes": 100_000, "excess_bytes": 100_000, "files": [name("a"), name("sub/b")] },
        { "bytes": 5000, "excess_bytes": 10_000, "files": [name("c"), name("d\n\x1b[31m"), name("sub/e")] },
    ]);
    assert_eq!(report["duplicates"], expected);
    let shown = scan(&index, &[text, "--duplicates"]).assert().success();
    shown.stdout(
        contains("107.42 KiB could be saved")
            .and(contains("3 files of 4.88 KiB"))
            .and(contains("d\\n\\u{1b}[31m"))
            .and(contains("\x1b").not()),
    );
    scan(&index, &[text]).assert().success().stdout(contains("could be saved").not());
}

#[test]
fn identical_files_under_long_names_and_many_types_are_no_trouble() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut folder = dir.path().join("tree");
    // Names of nearly the 4,096 bytes that a path may have, of which JSON makes six times as many.
    while folder.as_os_str().len() < 3700 {
        folder.push("\u{1}".repeat(200));
    }
    fs::create_dir_all(&folder).expect("folders");
    let bytes = noise(1, 20_000);
    for n in 0..14 {
        fs::write(folder.join(format!("{}{n:02}", "\u{1}".repeat(190))), &bytes).expect("a file");
    }
    for n in 0..2000 {
        fs::write(dir.path().join("tree").join(format!("file.{n:08}")), "few").expect("a file");
    }
    fs::write(dir.path().join("tree/large.large"), &bytes[..8000]).expect("a file");
    let text = dir.path().join("tree");
    let report = report(scan(&dir.path().join("index"), &[text.to_str().expect("text")]), 0);
    assert_eq!(report["files"], 2015);
    assert_eq!(report["largest_duplicates"].as_array().map(Vec::len), Some(10));
    let by_type = report["by_type"].as_object().expect("types");
    let sum = |field: &str| by_type.values().map(|sums| sums[field].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(sum("bytes"), 14 * 20_000 + 2000 * 3 + 8000);
    assert_eq!(
        (sum("bytes"), sum("new_bytes")),
        (
            report["total"]["bytes"].as_u64().expect("a sum"),
            report["total"]["new_bytes"].as_u64().expect("a sum")
        )
    );
    assert_eq!(by_type["large"]["bytes"], 8000);
    assert!(by_type.contains_key("(other)") && by_type.len() < 300, "{} types", by_type.len());
}

/// Scans standard input and then, since it comes later in the alphabet, `tree` in the folder of the index.
fn scan_of_stream(index: &Path, tree: &[&str]) -> Child {
    std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .args(["dedup", "scan", "--json", "--threads", "1", "--chunk-size", "256B", "--index"])
        .arg(index)
        .arg("-")
        .args(tree)
        .current_dir(index.parent().expect("a folder"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program")
}

#[test]
fn files_that_vanish_are_told_and_counted() {
    let (dir, tree) = tree(&[("stays", &noise(1, 5000)), ("vanishes", &noise(2, 5000))]);
    let mut child = scan_of_stream(&dir.path().join("index"), &["tree"]);
    let mut input = child.stdin.take().expect("a pipe");
    // More than a pipe holds: once it is written, the files have been found and the stream is being read.
    input.write_all(&noise(3, 2 << 20)).expect("it reads");
    fs::remove_file(tree.join("vanishes")).expect("a file");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{message}");
    assert!(message.contains("cannot read") && message.contains("vanishes"), "{message}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&report["files"], &report["unreadable_files"]), (&json!(3), &json!(1)));
}

#[test]
fn another_stream_does_not_go_on_with_a_killed_one() {
    let dir = tempfile::tempdir().expect("a folder");
    let index = dir.path().join("index");
    let (first, second) = (noise(1, 4 << 20), noise(2, 1 << 20));
    let mut killed = scan_of_stream(&index, &[]);
    let mut input = killed.stdin.take().expect("a pipe");
    // The state is written about once a second; what is behind the last time is not durable.
    for piece in first.chunks(512 << 10) {
        input.write_all(piece).expect("it reads");
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    killed.kill().expect("killed");
    killed.wait().expect("it ends");
    // Half of it is new, and half of it the interrupted scan has seen.
    let other = [&second[..], &first[..1 << 20]].concat();
    let mut child = scan_of_stream(&index, &[]);
    child.stdin.take().expect("a pipe").write_all(&other).expect("it reads");
    let mut message = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut message).expect("text");
    assert!(message.contains("an earlier scan of standard input was interrupted"), "{message}");
    let output = child.wait_with_output().expect("it ends");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let total = |field: &str| report["total"][field].as_u64().expect("a number");
    assert!(total("known_bytes") > 1 << 19, "the data of the other stream are known, not repeated: {report}");
    assert!(total("new_bytes") >= 1 << 20 && total("repeated_bytes") == 0, "{report}");
}

#[test]
fn a_trace_has_the_lookups_and_the_new_chunks_of_every_scan() {
    let (dir, tree) =
        tree(&[("one", &noise(1, 100_000)), ("two", &noise(1, 100_000)), ("three", &noise(2, 50_000))]);
    let trace = dir.path().join("lookups.trace");
    let arguments = [tree.to_str().expect("text"), "--trace", trace.to_str().expect("text")];
    let mut chunks = 0;
    for _ in 0..2 {
        let report = report(scan(&dir.path().join("index"), &arguments), 0);
        chunks += report["total"]["chunks"].as_u64().expect("chunks");
    }
    let text = fs::read_to_string(&trace).expect("a trace");
    let of_kind = |kind: &str| text.lines().filter_map(|line| line.strip_prefix(kind)).collect::<Vec<_>>();
    let (gets, mut puts) = (of_kind("get,0x"), of_kind("put,0x"));
    assert_eq!(gets.len() as u64, chunks);
    let all = puts.len();
    assert!(puts.iter().all(|digest| digest.len() == 40 && gets.contains(digest)), "{puts:?}");
    puts.sort_unstable();
    puts.dedup();
    assert_eq!((puts.len(), all + gets.len()), (all, text.lines().count()), "each is put once");
    let nowhere = dir.path().join("no/such/folder");
    let arguments = [arguments[0], "--trace", nowhere.to_str().expect("text")];
    scan(&dir.path().join("index"), &arguments).assert().code(2).stderr(contains("--trace: cannot write"));
    // As a full disk leaves it.
    fs::write(&trace, &text[..text.len() - 5]).expect("a trace that was cut off");
    let arguments = [arguments[0], "--trace", trace.to_str().expect("text")];
    scan(&dir.path().join("index"), &arguments).assert().code(2).stderr(contains("ends within a line"));
    fs::write(&trace, "").expect("an empty file");
    scan(&dir.path().join("other"), &arguments).assert().success();
}

#[test]
fn an_index_with_keys_of_its_own_is_refused_and_stays_as_it_is() {
    let (dir, tree) = tree(&[("file", &noise(1, 100_000))]);
    let index = dir.path().join("index");
    let program = |action: &str, input: &'static str| {
        let mut command = Command::cargo_bin("springflash").expect("the program is built");
        command.args(["index", action]).arg(&index).write_stdin(input);
        command
    };
    let text = tree.to_str().expect("text");
    program("create", "").assert().success();
    program("put", "a\t1\n").assert().success();
    scan(&index, &[text]).assert().code(2).stderr(contains("holds keys of its own"));
    program("get", "a\n").assert().success().stdout("a\t1\n");
    program("info", "")
        .assert()
        .success()
        .stdout(contains("1 records, replaced ones and deletions included"));
    // An empty index is as good as a new one.
    let index = dir.path().join("empty");
    Command::cargo_bin("springflash")
        .expect("the program")
        .args(["index", "create"])
        .arg(&index)
        .assert()
        .success();
    assert_eq!(report(scan(&index, &[text]), 0)["files"], 1);
}

#[test]
fn holes_are_told_apart_and_take_no_time() {
    use std::os::unix::fs::FileExt;
    const GIB: u64 = 1 << 30;
    let (dir, tree) = tree(&[("dense", &[&noise(1, 65_536)[..], &[0; 65_536], &noise(2, 65_536)].concat())]);
    let sparse = |name: &str, len_bytes: u64, pieces: &[(u64, &[u8])]| {
        let file = fs::File::create(tree.join(name)).expect("a file");
        file.set_len(len_bytes).expect("a length");
        pieces.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).expect("it is written"));
    };
    let (one, other) = (noise(1, 65_536), noise(2, 65_536));
    sparse("sparse", 3 * 65_536, &[(0, &one), (2 * 65_536, &other)]);
    sparse("huge", 100 * GIB, &[(GIB, &noise(3, 65_536))]);
    sparse("only a hole", GIB, &[]);
    let text = tree.to_str().expect("text");
    let index = dir.path().join("index");
    let found = report(scan(&index, &[text, "--duplicates"]), 0);
    let total = &found["total"];
    assert_eq!(total["bytes"], 3 * 65_536 + 2 * 65_536 + 65_536, "{found}");
    assert_eq!(total["hole_bytes"], 65_536 + 100 * GIB - 65_536 + GIB);
    // A hole is not a repetition, and the zeros of a file without holes are no news of it.
    assert!(total["repeated_bytes"].as_u64() <= Some(2 * 65_536 + 65_536), "{found}");
    let name = |file: &str| tree.join(file).to_str().expect("text").to_owned();
    let same = json!([{
        "bytes": 3 * 65_536, "excess_bytes": 3 * 65_536, "files": [name("dense"), name("sparse")]
    }]);
    assert_eq!(found["duplicates"], same);
    scan(&index, &[text]).assert().success().stdout(contains("of holes beside that"));
    let from_stdin = std::process::Command::new(assert_cmd::cargo::cargo_bin("springflash"))
        .args(["dedup", "scan", "-", "--json", "--index"])
        .arg(dir.path().join("other"))
        .stdin(fs::File::open(tree.join("huge")).expect("a file"))
        .output()
        .expect("the program");
    let found: Value = serde_json::from_slice(&from_stdin.stdout).expect("JSON");
    assert_eq!((&found["total"]["bytes"], &found["total"]["new_bytes"]), (&json!(65_536), &json!(65_536)));
}
