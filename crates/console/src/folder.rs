//! Folders that commands make. A command makes the folder that it is given and none above it: a mistyped path is an error, and does not
//! fill a new tree.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;

use crate::bad_input;

/// Makes `folder`, unless it is there.
///
/// # Errors
/// A folder above it that is missing, and what else prevents it.
pub fn make(folder: &Path) -> Result<()> {
    require_parent(folder)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists || !folder.is_dir() => {
            Err(bad_input(format!("cannot create {}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
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
        _ => Ok(()),
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
        assert!(make(&dir.path().join("file")).is_err(), "a file is no folder");
        assert!(require_parent(Path::new("here")).is_ok());
    }
}
