//! `springflash set copy` and `springflash index copy`, as scripts use them.

use std::io::Write;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use assert_cmd::Command;
use assert_cmd::cargo::CommandCargoExt;
use predicates::prelude::*;

fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springflash").expect("the program is built");
    command.current_dir(folder).args(arguments);
    command
}

fn lines(range: std::ops::Range<u32>) -> String {
    range.map(|n| format!("{n}\n")).collect()
}

fn filled(folder: &Path) {
    run(folder, &["set", "create", "set", "--capacity", "100000"]).assert().success();
    run(folder, &["set", "add", "set"]).write_stdin(lines(0..20_000)).assert().success();
    run(folder, &["index", "create", "index"]).assert().success();
    run(folder, &["index", "put", "index"]).write_stdin("a\t1\nb\t2\n").assert().success();
}

#[test]
fn copies_hold_what_the_originals_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path());
    run(folder.path(), &["set", "copy", "set", "of-set"]).assert().success().stdout("");
    run(folder.path(), &["index", "copy", "index", "of-index"]).assert().success().stdout("");
    let found =
        run(folder.path(), &["set", "check", "of-set", "--count"]).write_stdin(lines(0..20_000)).assert();
    found.success().stdout("20000\n");
    run(folder.path(), &["set", "verify", "of-set"]).assert().success();
    let found = run(folder.path(), &["index", "get", "of-index"]).write_stdin("b\na\n").assert();
    found.success().stdout("b\t2\na\t1\n");
    run(folder.path(), &["index", "verify", "of-index"]).assert().success();
}

#[test]
fn what_cannot_be_copied_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path());
    for (arguments, told) in [
        (["set", "copy", "set", "set"], "outside the folder of the original"),
        (["set", "copy", "set", "set/copy"], "outside the folder of the original"),
        (["set", "copy", "set", "index"], "is not empty"),
        (["set", "copy", "index", "copy"], "is an index, expected a set"),
        (["index", "copy", "set", "copy"], "is a set, expected an index"),
        (["set", "copy", "none", "copy"], "holds no set"),
        (["index", "copy", "index", "none/copy"], "mkdir -p"),
    ] {
        let refused = run(folder.path(), &arguments).assert().code(2);
        refused.stderr(predicate::str::contains(told));
    }
    let mut writer = Process::cargo_bin("springflash").expect("the program is built");
    writer.current_dir(folder.path()).args(["set", "add", "set", "--print-new", "--line-buffered"]);
    let mut writer = writer.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let (mut lines, printed) = (writer.stdin.take().expect("a pipe"), writer.stdout.take().expect("a pipe"));
    writeln!(lines, "new").expect("it reads");
    let mut first = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(printed), &mut first)
        .expect("it has opened the set");
    let refused = run(folder.path(), &["set", "copy", "set", "copy"]).assert().code(2);
    refused.stderr(
        predicate::str::contains("in use")
            .and(predicate::str::contains("`copy_to` in Rust, `copy` in Python")),
    );
    drop(lines);
    assert!(writer.wait().expect("it ends").success());
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|it| it.file_name()).collect();
    names.sort();
    assert_eq!(names, ["index", "set"], "nothing was left behind");
}

#[test]
fn a_torn_copy_ends_with_code_1_and_is_salvaged() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path());
    let file = |name: &str| folder.path().join("set").join(name);
    let earlier = std::fs::read(file("filter-0000")).expect("pages");
    run(folder.path(), &["set", "add", "set"]).write_stdin(lines(20_000..30_000)).assert().success();
    std::fs::write(file("filter-0000"), earlier).expect("as a slow program copies them");
    let refused = run(folder.path(), &["set", "check", "set"]).write_stdin("1\n").assert().code(1);
    refused.stderr(predicate::str::contains("was copied while it was written"));
    let salvaged = run(folder.path(), &["set", "repair", "set", "salvaged"]).assert().code(1);
    salvaged.stderr(predicate::str::contains("older than the log"));
    let found =
        run(folder.path(), &["set", "check", "salvaged", "--count"]).write_stdin(lines(0..20_000)).assert();
    found.success().stdout("20000\n");
}
