//! The sources of a crate, for tests of its architecture.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Code by path below `src` of the crate that is tested, without comments and unit tests. Cargo runs its tests in its folder.
///
/// # Panics
/// If a file cannot be read.
pub fn sources() -> BTreeMap<PathBuf, String> {
    let root = Path::new("src");
    let mut files = Vec::new();
    add_files(root, &mut files);
    files.iter().map(|path| (path.strip_prefix(root).expect("below it").to_owned(), code(path))).collect()
}

fn add_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { add_files(&path, files) } else { files.push(path) }
    }
}

fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source");
    let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}
