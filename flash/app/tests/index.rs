//! `springflash index` as scripts use it.

use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::Value;

fn springflash(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springflash").unwrap();
    command.args(arguments);
    command
}

#[test]
fn lines_are_put_got_deleted_and_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let index = path.to_str().unwrap();
    let is_told_once =
        predicate::str::ends_with("index holds no index; create one with `springflash index create`\n");
    springflash(&["index", "get", index]).write_stdin("a\n").assert().code(2).stderr(is_told_once);
    for absurd in ["1e18", "1e11", "-1", "1e400"] {
        springflash(&["index", "create", index, "--expected-keys", absurd])
            .assert()
            .code(2)
            .stderr(predicate::str::contains("expected a whole number from 0 to 10066329600"));
    }
    springflash(&["index", "create", index]).assert().success();
    springflash(&["index", "create", index])
        .assert()
        .code(2)
        .stderr(predicate::str::contains("is not empty"));
    springflash(&["index", "put", index]).write_stdin("a\t1\nb\t2\t3\nc\n").assert().success();
    springflash(&["index", "get", index]).write_stdin("c\nb\nx\n").assert().code(0).stdout("c\t\nb\t2\t3\n");
    springflash(&["index", "get", "--absent", index]).write_stdin("b\nx\n").assert().code(0).stdout("x\n");
    springflash(&["index", "delete", index]).write_stdin("b\n").assert().success();
    springflash(&["index", "get", index]).write_stdin("b\n").assert().code(3).stdout("");
    springflash(&["index", "compact", index]).assert().success();
    springflash(&["index", "verify", index]).assert().success();
    springflash(&["index", "repair", index])
        .assert()
        .success()
        .stderr(predicate::str::contains("0 damaged buckets"));
    let info =
        springflash(&["index", "info", "--json", index]).assert().success().get_output().stdout.clone();
    let info: Value = serde_json::from_slice(&info).unwrap();
    assert_eq!(info["records"], 4);
}

#[test]
fn all_commands_take_the_same_lines_and_none_finds_nothing_silently() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let index = path.to_str().unwrap();
    springflash(&["index", "create", index]).assert().success();
    springflash(&["index", "put", index]).write_stdin("a\t1\nb\t2\n").assert().success();
    for action in ["get", "delete"] {
        let told = predicate::str::contains("standard input, line 2: there is no key before the first tab");
        springflash(&["index", action, index]).write_stdin("x\n\t1\n").assert().code(2).stderr(told);
    }
    for (form, pairs, others) in
        [(&[][..], "a\t1\nb\t2\n", "a\0b\0"), (&["--null"], "a\t1\0b\t2\0", "a\nb\n")]
    {
        let run = |action: &str, form: &[&str], input: &str| {
            springflash(&[&["index", action, index], form].concat()).write_stdin(input.to_owned()).assert()
        };
        // What `get` prints, all take.
        for action in ["put", "get", "put"] {
            let output = run(action, form, pairs).success();
            output.stdout(if action == "get" { pairs } else { "" });
        }
        // Lines of another form are told, and delete nothing.
        run("delete", form, others).stderr(predicate::str::contains("were not in the index")).code(3);
        run("get", form, pairs).success().stdout(pairs);
        run("delete", form, pairs).success().stderr("");
        run("delete", form, pairs)
            .code(3)
            .stderr(predicate::str::contains("keys that were not in the index: 2 of 2"));
        // As in a pipe from a `get` that failed.
        run("delete", form, "").code(3);
        run("put", form, pairs).success();
    }
    // Lines that end otherwise are one line with a long value.
    let long = "lines with another value than the index: 1";
    for action in ["get", "delete"] {
        let mut run = springflash(&["index", action, "-0", index]);
        run.write_stdin("a\t1\nb\t2\n").assert().success().stderr(predicate::str::contains(long));
    }
    springflash(&["index", "put", index]).write_stdin("a\t1\nb\t2\n").assert().success();
    let one = springflash(&["index", "delete", index]).write_stdin("x\na\n").assert().success();
    one.stderr(predicate::str::contains("keys that were not in the index: 1 of 2"));
    springflash(&["index", "put", index]).write_stdin("a\t1\nb\t2\n").assert().success();
    // A value that a line cannot hold is told and not printed as two lines.
    springflash(&["index", "put", "-0", index]).write_stdin("c\t1\n2\0d\tend\r\0").assert().success();
    for key in ["c", "d"] {
        let got = springflash(&["index", "get", index]).write_stdin(format!("a\n{key}\n")).assert().code(2);
        got.stdout("a\t1\n")
            .stderr(predicate::str::contains("line 2").and(predicate::str::contains("--null")));
    }
    springflash(&["index", "get", "-0", index]).write_stdin("c\0").assert().success().stdout("c\t1\n2\0");
}

#[test]
fn what_only_reads_leaves_the_index_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index");
    let index = path.to_str().unwrap();
    springflash(&["index", "create", index]).assert().success();
    springflash(&["index", "put", index]).write_stdin("a\t1\nb\t2\n").assert().success();
    let files = || {
        let files = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = files.map(|file| (std::fs::read(&file).unwrap(), file)).collect();
        files.sort();
        files
    };
    let before = files();
    springflash(&["index", "get", index]).write_stdin("a\nx\n").assert().success();
    springflash(&["index", "info", index]).assert().success();
    springflash(&["index", "verify", index]).assert().success();
    assert!(files() == before);
}

#[test]
fn damage_is_told_for_the_keys_concerned_and_repair_tells_what_is_lost() {
    let directory = tempfile::tempdir().expect("a folder");
    let index = directory.path().join("index");
    let program = |action: &str| {
        let mut command = assert_cmd::Command::cargo_bin("springflash").expect("the program");
        command.args(["index", action]).arg(&index);
        command
    };
    program("create").assert().success();
    let pairs: String = (0..20_000).map(|n| format!("{n}\tv{n}\n")).collect();
    program("put").write_stdin(pairs).assert().success();
    let records = index.join("records");
    let mut bytes = std::fs::read(&records).expect("records");
    bytes[5 * 4096..6 * 4096].fill(0);
    std::fs::write(&records, &bytes).expect("damage");
    let keys: String = (0..20_000).map(|n| format!("{n}\n")).collect();
    let got = program("get").write_stdin(keys).assert().code(1);
    let lines = got.get_output().stdout.split(|byte| *byte == b'\n').count();
    assert!((18_000..20_000).contains(&lines), "{lines} keys are answered");
    got.stderr(predicate::str::contains("keys cannot be looked up"));
    program("repair").assert().code(1).stderr(predicate::str::contains("index repair"));
    let new = directory.path().join("new");
    program("repair").arg(&new).assert().code(1).stderr(predicate::str::contains("records were lost"));
}
