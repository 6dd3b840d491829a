//! A measurement can be repeated only if the commit that it names is part of the history.

use std::process::Command;

use crate::{Document, documents, expect_none, root};

/// Words that can be nothing but the abbreviated name of a commit, and whether the working copy was modified.
pub(crate) fn commits_in(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    words.filter_map(|word| {
        let (name, is_dirty) = match word.strip_suffix("-dirty") {
            Some(name) => (name, true),
            None => (word, false),
        };
        let is_hex = name.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let has = |test: fn(&u8) -> bool| name.as_bytes().iter().any(test);
        let is_commit = is_hex && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
        ((7..=40).contains(&name.len()) && is_commit).then_some((name, is_dirty))
    })
}

fn git(arguments: &[&str]) -> Option<std::process::Output> {
    Command::new("git").current_dir(root()).args(arguments).output().ok()
}

/// Whether `name` is a commit of the history; none if this is no Git repository with its whole history.
pub(crate) fn is_ancestor(name: &str) -> Option<bool> {
    let shallow = git(&["rev-parse", "--is-shallow-repository"])?;
    let is_whole = String::from_utf8_lossy(&shallow.stdout).trim() == "false";
    let answer = git(&["merge-base", "--is-ancestor", name, "HEAD"])?;
    is_whole.then_some(answer.status.success())
}

#[test]
fn commits_are_ancestors_of_head() {
    let mut complaints = Vec::new();
    for Document { path, text } in documents() {
        for (name, _) in commits_in(&text) {
            if is_ancestor(name) == Some(false) {
                complaints.push(format!("{}: {name} is not an ancestor of HEAD", path.display()));
            }
        }
    }
    expect_none(&complaints);
}

#[test]
fn measurements_are_of_committed_sources() {
    let mut complaints = Vec::new();
    for Document { path, text } in documents() {
        for (name, _) in commits_in(&text).filter(|(_, is_dirty)| *is_dirty) {
            complaints.push(format!("{}: {name}-dirty cannot be checked out", path.display()));
        }
    }
    expect_none(&complaints);
}

#[test]
fn commits_are_told_from_other_words() {
    let text = "0x9e3779b97f4a7c15 (6d9aae5) at b766ac7, 34391d5-dirty; 246148859 keys, defaced, 1,448,504";
    let found: Vec<_> = commits_in(text).collect();
    assert_eq!(found, [("6d9aae5", false), ("b766ac7", false), ("34391d5", true)]);
}
