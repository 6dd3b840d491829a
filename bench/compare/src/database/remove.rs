//! Removing what may or may not be there.

use std::fs;
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use springbloom_console::bad_input;

/// Removes the folder `path` with all in it, if it is there.
pub(crate) fn folder(path: &Path) -> Result<()> {
    done(fs::remove_dir_all(path), path)
}

/// The file beside a folder that says that the folder is this program's, and not finished.
fn mark(path: &Path) -> PathBuf {
    let mut mark = path.as_os_str().to_owned();
    mark.push(".unfinished");
    mark.into()
}

/// Says that the folder `path` is this program's until [`mark_finished`].
pub(crate) fn mark_unfinished(path: &Path) -> Result<()> {
    fs::write(mark(path), "").with_context(|| format!("cannot write {}", mark(path).display()))
}

/// The folder is whole.
pub(crate) fn mark_finished(path: &Path) -> Result<()> {
    file(&mark(path))
}

/// Removes the folder `path` that an interrupted run left.
///
/// # Errors
/// [`BadInput`](springbloom_console::BadInput) if something is there that no run left.
pub(crate) fn unfinished(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_ok() && !mark(path).exists() {
        return Err(bad_input(format!(
            "{} is there and was not left by an interrupted run: move it away, or choose another --dir",
            path.display()
        )));
    }
    folder(path)
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
