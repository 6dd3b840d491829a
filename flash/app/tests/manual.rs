//! Man pages and completions tell of every command. The program `springbloom` shares their code and has its further tests.

use assert_cmd::Command;
use predicates::prelude::*;
use predicates::str::contains;

fn springflash(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("springflash").expect("the program is built");
    command.args(arguments);
    command
}

#[test]
fn each_command_has_a_man_page() {
    let folder = tempfile::tempdir().expect("a folder");
    springflash(&["man"]).arg(folder.path()).assert().success().stdout("");
    for page in ["springflash", "springflash-set-create", "springflash-index-get", "springflash-dedup-scan"] {
        let text = std::fs::read_to_string(folder.path().join(format!("{page}.1"))).expect("a page");
        let title = format!(".TH {page} 1  \"springflash {}\"", env!("CARGO_PKG_VERSION"));
        assert!(text.contains(&title) && text.contains(".SH \"EXIT STATUS\"\n  0  done\n"), "{text}");
    }
}

#[test]
fn completions_are_of_all_commands() {
    let all = contains("springflash__set__create").or(contains("springflash__subcmd__set__subcmd__create"));
    springflash(&["completions", "bash"]).assert().success().stdout(all.and(contains("dedup")));
}
