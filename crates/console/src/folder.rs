//! Folders that commands make. A command makes the folder that it is given and none above it: a mistyped path is an error, and does not
//! fill a new tree.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};

use crate::bad_input;

/// Makes `folder`, unless it is there.
///
/// # Errors
/// A folder above it that is missing, and what else prevents it.
pub fn make(folder: &Path) -> Result<()> {
    require_parent(folder)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => require(folder),
        Err(error) => Err(bad_input(format!("cannot create {}: {error}", folder.display()))),
        Ok(()) => Ok(()),
    }
}

/// Keeps other processes of `command` away from `folder` as long as the file is open.
///
/// # Errors
/// Another one is there, and those of the system.
pub fn lock(folder: &Path, command: &str) -> Result<File> {
    let file = File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(bad_input(format!(
            "{} is in use by another {command}: wait for its end, or choose another --dir",
            folder.display()
        ))),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", folder.display())),
    }
}

/// Requires that what is at `folder` is one.
fn require(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let what = if folder.is_file() { "a file" } else { "no folder" };
    Err(bad_input(format!("{} is {what}: expected a folder, or the name of a new one", folder.display())))
}

/// Requires the folder in which `folder` is, or is to be made.
///
/// # Errors
/// There is none.
pub fn require_parent(folder: &Path) -> Result<()> {
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(parent) if !parent.exists() => Err(bad_input(format!(
            "cannot create {}: there is no folder {}; make it first (mkdir -p), or choose another",
            folder.display(),
            parent.display()
        ))),
        Some(parent) => require(parent),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_and_none_above_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let (new, deep) = (dir.path().join("new"), dir.path().join("a/b/c"));
        make(&new).expect("new");
        assert!(new.is_dir());
        make(&new).expect("it is there");
        let error = make(&deep).expect_err("deep").to_string();
        assert!(error.contains("there is no folder") && error.contains("a/b;"), "{error}");
        assert!(!dir.path().join("a").exists());
        fs::write(dir.path().join("file"), "").expect("a file");
        for path in ["file", "file/below"] {
            let error = make(&dir.path().join(path)).expect_err("a file is no folder").to_string();
            assert!(
                error.ends_with("/file is a file: expected a folder, or the name of a new one"),
                "{error}"
            );
        }
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).expect("a link");
        let error = make(&dir.path().join("link")).expect_err("a link to nothing").to_string();
        assert!(error.contains("link is no folder: expected a folder"), "{error}");
        assert!(require_parent(Path::new("here")).is_ok());
    }
}
