//! Names of files in documents are names of files that exist.

use std::collections::BTreeSet;

use crate::{Document, documents, expect_none, files, prose};

/// Folders of the root: what begins with one is a path from there.
const FOLDERS: [&str; 11] = [
    "apps/",
    "bench/",
    "crates/",
    "docs/",
    "flash/",
    "fuzz/",
    "hosts/",
    "operations/",
    "scripts/",
    ".ci/",
    ".cargo/",
];

/// Extensions of sources and documents.
const EXTENSIONS: [&str; 7] = [".rs", ".cc", ".h", ".md", ".py", ".sh", ".toml"];

/// Files of others, and such that a reader makes.
const ELSEWHERE: [&str; 3] = ["db_crashtest.py", "main.cc", "src/main.rs"];

/// Words in backticks.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).flat_map(str::split_whitespace)
}

/// Whether it is the name of one file or folder, and not a pattern.
fn is_name(word: &str) -> bool {
    let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-+/".contains(&b));
    let is_ours = FOLDERS.iter().any(|folder| word.starts_with(folder));
    is_plain
        && (is_ours
            || EXTENSIONS.iter().any(|extension| word.len() > extension.len() && word.ends_with(extension)))
}

#[test]
fn files_that_documents_name_exist() {
    let files: Vec<String> = files().iter().map(|path| path.to_string_lossy().into_owned()).collect();
    let mut known: BTreeSet<&str> = files.iter().map(String::as_str).collect();
    for file in &files {
        // Every end and every folder of a path: `wal/mod.rs`, and `crates/filter/`.
        for (at, _) in file.match_indices('/') {
            known.extend([&file[at + 1..], &file[..at], &file[..=at]]);
        }
    }
    let mut complaints = Vec::new();
    for Document { path, text } in documents() {
        for (line, content) in prose(&text) {
            for name in quoted(content).filter(|word| is_name(word) && !ELSEWHERE.contains(word)) {
                let name = name.trim_start_matches("../").trim_start_matches("./");
                if !known.contains(name) {
                    complaints.push(format!("{}:{line}: there is no `{name}`", path.display()));
                }
            }
        }
    }
    expect_none(&complaints);
}
