//! Removing what may or may not be there.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

use anyhow::{Context, Result};

/// Removes the folder `path` with all in it, if it is there.
pub(crate) fn folder(path: &Path) -> Result<()> {
    done(fs::remove_dir_all(path), path)
}

/// Removes the file `path`, if it is there.
pub(crate) fn file(path: &Path) -> Result<()> {
    done(fs::remove_file(path), path)
}

fn done(result: Result<(), Error>, path: &Path) -> Result<()> {
    match result {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
