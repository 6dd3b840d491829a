//! What the program says to wrong arguments, what it leaves behind, and what it does when nobody reads its output.

use std::fs;
use std::process::Stdio;

use assert_cmd::Command;
use predicates::str::contains;

fn springbloom(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springbloom").expect("the program is built");
    command.args(arguments);
    command
}

#[test]
fn commands_whose_output_nobody_reads_end_as_they_would_have_ended() {
    for (arguments, code) in [
        (&["reproduce", "--list"][..], 0),
        (&["reproduce", "--list", "atc19-fig6"], 0),
        (&["inspect", "--help"], 0),
        (&["inspect", "nothing"], 2),
    ] {
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("springbloom"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().expect("it ends").code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    for arguments in [&["reproduce", "--list"][..], &["inspect", "--help"], &["--version"]] {
        let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("springbloom"))
            .args(arguments)
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
fn every_help_has_the_exit_codes() {
    for arguments in [&["--help"][..], &["inspect", "-h"], &["explain", "--help"], &["reproduce", "--help"]] {
        springbloom(arguments).assert().success().stdout(contains("2  wrong usage or input"));
    }
}

#[test]
fn a_command_makes_the_folder_that_it_is_given_and_none_above() {
    let dir = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["compare", "--set", "buffered", "--records", "1000", "--dir", "a/b/new"][..],
        &["reproduce", "atc19-fig6", "--records", "a/b/new"],
        &["reproduce", "atc19-fig6", "--records", "records", "--dir", "a/b/new"],
    ] {
        let refused = springbloom(arguments).current_dir(dir.path()).assert().code(2);
        refused.stderr(contains("cannot create a/b/new: there is no folder a/b;"));
        assert!(!dir.path().join("a").exists(), "{arguments:?}");
    }
}

#[test]
fn commands_that_measure_show_at_most_25_flags() {
    for (command, told) in [("compare", "multi_get=KEYS"), ("simulate", "--bits")] {
        let help = springbloom(&[command, "--help"]).output().expect("help");
        let help = String::from_utf8(help.stdout).expect("text");
        let flags =
            help.lines().filter(|line| line.trim_start().starts_with("--") || line.contains("-h, ")).count();
        assert!(
            (10..=25).contains(&flags) && help.contains(told) && help.contains("Exit codes:\n  0  done"),
            "{flags}: {help}"
        );
    }
}
