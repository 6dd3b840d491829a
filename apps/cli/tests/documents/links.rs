//! Relative links lead to files and headings that exist.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use crate::{Document, documents, expect_none, prose, root};

/// Targets of `[text](target)` in a line.
pub(crate) fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

/// The anchor that a heading gets: lower case, spaces as hyphens, punctuation left out.
pub(crate) fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_heading(text: &str, fragment: &str) -> bool {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| anchor(line.trim_start_matches('#'))).any(|found| found == fragment)
}

/// `path` without `.` and `..`.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = parts.pop(),
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

#[test]
fn relative_links_lead_somewhere() {
    let mut complaints = Vec::new();
    for Document { path, text } in documents() {
        // A link may be broken between its text and its target, never within either.
        for (line, content) in prose(&text) {
            for target in targets(content).filter(|target| !target.contains("://")) {
                let (file, fragment) = target.split_once('#').unwrap_or((target, ""));
                let file = match file {
                    "" => path.clone(),
                    file => resolved(&path.parent().expect("a file has a folder").join(file)),
                };
                let place = format!("{}:{line}: {target}", path.display());
                if !root().join(&file).exists() {
                    complaints.push(format!("{place} does not exist"));
                } else if !fragment.is_empty() {
                    let there = fs::read_to_string(root().join(&file)).unwrap_or_default();
                    if !has_heading(&there, fragment) {
                        complaints.push(format!("{place}: no such heading"));
                    }
                }
            }
        }
    }
    expect_none(&complaints);
}

#[test]
fn anchors_are_those_of_headings() {
    assert!(has_heading("# A\n\n## Many runs: `x`, again\n", "many-runs-x-again"));
    assert!(!has_heading("```\n# no heading\n```\n", "no-heading"));
}
