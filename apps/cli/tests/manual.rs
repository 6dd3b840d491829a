//! Man pages and completions tell of every command.

use std::collections::BTreeSet;
use std::fs;

use assert_cmd::Command;
use predicates::str::contains;

fn springbloom(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springbloom").expect("the program is built");
    command.args(arguments);
    command
}

/// The commands that the program's help names.
fn commands() -> Vec<String> {
    let help = springbloom(&["--help"]).output().expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    let listed = help.split("Commands:").nth(1).expect("a list of commands");
    let names = listed.lines().skip(1).take_while(|line| !line.is_empty());
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn each_command_has_a_man_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    springbloom(&["man"]).arg(&pages).assert().success().stdout("");
    let written: BTreeSet<_> = fs::read_dir(&pages)
        .expect("the folder")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"))
        .collect();
    let commands = commands();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands.iter().filter(|command| *command != "help") {
        assert!(written.contains(&format!("springbloom-{command}.1")), "{command} of {written:?}");
    }
    assert!(written.contains("springbloom.1"), "{written:?}");
    let page = fs::read_to_string(pages.join("springbloom-advise.1")).expect("a page");
    assert!(page.contains(".TH springbloom-advise 1") && page.contains("\\-\\-target"), "{page}");
    let footer = format!(".TH springbloom-advise 1  \"springbloom {}\"", env!("CARGO_PKG_VERSION"));
    assert!(page.contains(&footer), "{page}");
    assert!(page.contains(".SH \"EXIT STATUS\"\n  0  done\n") && !page.contains("EXTRA"), "{page}");
    springbloom(&["man"]).assert().success().stdout(contains(".SH SUBCOMMANDS"));
    let file = pages.join("springbloom.1");
    springbloom(&["man"])
        .arg(&file)
        .assert()
        .code(2)
        .stderr(contains("springbloom.1 is a file: expected a folder"));
}

#[test]
fn commands_that_measure_show_at_most_25_flags() {
    for (command, told) in [("compare", "multi_get=KEYS"), ("simulate", "--bits")] {
        let help = springbloom(&[command, "--help"]).output().expect("help");
        let help = String::from_utf8(help.stdout).expect("text");
        let flags =
            help.lines().filter(|line| line.trim_start().starts_with("--") || line.contains("-h, ")).count();
        assert!((10..=25).contains(&flags) && help.contains(told), "{flags}: {help}");
    }
}

#[test]
fn a_full_disk_leaves_no_page_and_no_half_of_one() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("springbloom.1"), "older").expect("an older page");
    // Files of more than two kilobytes cannot be written, as on a full disk.
    let output = std::process::Command::new("bash")
        .args(["-c", "ulimit -f 2; trap '' XFSZ; exec \"$0\" man \"$1\""])
        .arg(assert_cmd::cargo::cargo_bin("springbloom"))
        .arg(folder.path())
        .output()
        .expect("a shell");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("cannot write man pages into"), "{message}");
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("a file").file_name())
        .collect();
    assert_eq!(left, ["springbloom.1"]);
    assert_eq!(fs::read_to_string(folder.path().join("springbloom.1")).expect("a page"), "older");
}

#[test]
fn each_shell_gets_completions_of_all_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = springbloom(&["completions", shell]).assert().success();
        let script = String::from_utf8(script.get_output().stdout.clone()).expect("text");
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
        assert!(script.contains("target"), "{shell} does not know options");
    }
    springbloom(&["completions", "tcsh"]).assert().code(2).stderr(contains("bash"));
    // Bash takes them.
    let program = assert_cmd::cargo::cargo_bin("springbloom");
    let check = "source <(\"$0\" completions bash); COMP_WORDS=(springbloom ad); COMP_CWORD=1; \
        _springbloom springbloom ad springbloom; echo \"${COMPREPLY[@]}\"";
    let completed =
        std::process::Command::new("bash").args(["-c", check]).arg(&program).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&completed.stdout).trim(), "advise", "{completed:?}");
}
