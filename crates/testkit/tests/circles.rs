//! No two modules use each other, in any crate of the checkout.

use std::{
    fs,
    path::{Path, PathBuf},
};

use springbloom_testkit::modules::{Modules, circles};

/// The folders of sources below `folder` that belong to a crate.
fn crates(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("Cargo.toml").exists() && folder.join("src").exists() {
        found.push(folder.join("src"));
    }
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name();
        let is_of_sources =
            !["src", "target"].iter().any(|other| name == *other) && !name.to_string_lossy().starts_with('.');
        if is_of_sources && entry.file_type().expect("a type").is_dir() {
            crates(&entry.path(), found);
        }
    }
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let mut found = Vec::new();
    crates(Path::new("../.."), &mut found);
    assert!(found.len() >= 20, "{found:?}");
    let circles: Vec<_> = (found.iter())
        .map(|src| (src, circles(Modules::of(src).graph())))
        .filter(|(_, circles)| !circles.is_empty())
        .flat_map(|(src, circles)| {
            circles
                .into_iter()
                .map(move |(module, uses)| format!("{}: {module} uses {uses:?}", src.display()))
        })
        .collect();
    assert!(circles.is_empty(), "in or between circles:\n{}", circles.join("\n"));
}
