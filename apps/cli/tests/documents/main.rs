//! References in documents exist: commits, files, links and headings. What documents say of measurements can be traced. Lines of sources
//! are not too long.

mod commits;
mod licences;
mod links;
mod measured;
mod names;
mod records;
mod tables;
mod widths;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A Markdown file of the repository.
struct Document {
    /// Below the root of the repository.
    path: PathBuf,
    text: String,
}

fn root() -> PathBuf {
    Path::new("../..").canonicalize().expect("the root of the repository")
}

/// Every file of the repository, as a path below its root. Leaves out hidden folders and those of builds.
fn files() -> Vec<PathBuf> {
    let root = root();
    let (mut found, mut open) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let entry = entry.expect("an entry of a folder");
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if entry.file_type().expect("its type").is_dir() {
                if !name.starts_with('.') && name != "target" || name == ".ci" || name == ".cargo" {
                    open.push(entry.path());
                }
            } else {
                found.push(entry.path().strip_prefix(&root).expect("below the root").to_owned());
            }
        }
    }
    found.sort();
    found
}

fn documents() -> Vec<Document> {
    let markdown =
        files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    markdown
        .map(|path| {
            let text = fs::read_to_string(root().join(&path)).expect("a document");
            Document { path, text }
        })
        .collect()
}

/// Fails with all complaints at once.
fn expect_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Lines outside blocks of code, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        (!in_code && !is_fence).then_some((at + 1, line))
    })
}
