//! Files that are read whole. What else has a name may have no end: a device, a pipe.

use std::path::Path;

use anyhow::Result;

use crate::bad_input;

/// Refuses what is at `path`, unless it is a regular file or nothing.
///
/// # Errors
/// A folder, a device, a pipe.
pub fn require_regular(path: &Path, expected: &str) -> Result<()> {
    match path.metadata() {
        Ok(found) if !found.is_file() => {
            Err(bad_input(format!("{} is not a regular file: expected {expected}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Refuses what a new file at `path` would not replace, before work is done for it: what is no regular file, and a link that leads nowhere.
///
/// # Errors
/// As [`require_regular`], and such a link.
pub fn require_replaceable(path: &Path, expected: &str) -> Result<()> {
    if path.is_symlink() && !path.exists() {
        return Err(bad_input(format!(
            "{} is a link that leads nowhere: expected {expected}",
            path.display()
        )));
    }
    require_regular(path, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in [Path::new("/dev/zero"), folder.path()] {
            let error = require_regular(path, "a record").expect_err("no file").to_string();
            assert_eq!(error, format!("{} is not a regular file: expected a record", path.display()));
        }
        let file = folder.path().join("file");
        require_regular(&file, "a record").expect("nothing is there");
        std::fs::write(&file, "").expect("a file");
        require_regular(&file, "a record").expect("a file");
    }

    #[test]
    fn what_no_file_replaces_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (link, target) in [("nowhere", "missing"), ("loop", "loop"), ("link", "file")] {
            std::os::unix::fs::symlink(target, at(link)).expect("a link");
        }
        for link in ["nowhere", "loop"] {
            let error = require_replaceable(&at(link), "a page").expect_err("a link").to_string();
            assert!(
                error.ends_with(&format!("/{link} is a link that leads nowhere: expected a page")),
                "{error}"
            );
        }
        for path in [Path::new("/dev/null"), folder.path()] {
            let error = require_replaceable(path, "a page").expect_err("no file").to_string();
            assert!(error.contains("is not a regular file"), "{error}");
        }
        require_replaceable(&at("file"), "a page").expect("nothing is there");
        std::fs::write(at("file"), "").expect("a file");
        for name in ["file", "link"] {
            require_replaceable(&at(name), "a page").expect("a file");
        }
    }
}
