//! The direction between the rooms of this crate: a room uses only what stands before it here, and the plan does nothing but decide.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders and files of `src`, each of which may use those before it.
const ORDER: [&str; 19] = [
    "notices",
    "memory",
    "interned",
    "names",
    "error",
    "budget",
    "keys",
    "policy_kind",
    "settings",
    "unit_source",
    "visits",
    "plan",
    "table_spec",
    "lookup",
    "stats",
    "registry",
    "load",
    "background",
    "manager",
];

/// What would make a decision depend on anything but the calls that were made.
const IMPURE: [&str; 9] = [
    "std::sync",
    "std::thread",
    "std::time",
    "std::fs",
    "std::io",
    "arc_swap",
    "crossbeam",
    "thread_local",
    "unsafe",
];

fn source_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            source_files(&path, files);
        } else if path.file_name().is_some_and(|name| name != "simulation.rs") {
            files.push(path);
        }
    }
}

/// Sources by path from `src`, without comments and tests.
fn sources() -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    source_files(&root, &mut files);
    let code = |path: &Path| {
        let text = fs::read_to_string(path).expect("a source");
        let shipped = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = shipped.lines().map(|line| line.split("//").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    };
    files.iter().map(|path| (path.strip_prefix(&root).expect("below it").to_owned(), code(path))).collect()
}

fn room_of(path: &Path) -> String {
    let first = path.iter().next().expect("a name").to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The names behind each `crate::` of a source, groups in braces taken apart.
fn uses(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let name = |text: &str| {
            text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        };
        match rest.strip_prefix('{') {
            Some(group) => {
                let group = group.split('}').next().unwrap_or_default();
                found.extend(group.split(',').map(name).filter(|name| !name.is_empty()));
            }
            None => found.push(name(rest)),
        }
    }
    found
}

#[test]
fn rooms_use_only_what_stands_before_them() {
    let place = |room: &str| ORDER.iter().position(|known| *known == room);
    for (path, code) in sources().iter().filter(|(path, _)| **path != *Path::new("lib.rs")) {
        let room = room_of(path);
        let own = place(&room).unwrap_or_else(|| panic!("{room} is new: say here what it may use"));
        for used in uses(code) {
            // `lib.rs` is for users of the crate: a room imports from rooms.
            let other = place(&used).unwrap_or_else(|| panic!("{}: what is crate::{used}?", path.display()));
            assert!(other <= own, "{}: {room} uses {used}", path.display());
            assert!((room.as_str(), used.as_str()) != ("lookup", "plan"), "{}", path.display());
        }
    }
}

#[test]
fn the_plan_decides_and_does_nothing_else() {
    for (path, code) in sources().iter().filter(|(path, _)| path.starts_with("plan")) {
        for impure in IMPURE {
            assert!(!code.contains(impure), "{} uses {impure}", path.display());
        }
    }
}
