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

/// The file next to a folder that says that the folder is this program's, and not finished.
fn mark(path: &Path) -> PathBuf {
    let mut mark = path.as_os_str().to_owned();
    mark.push(".unfinished");
    mark.into()
}

/// Whether `path` has a database, and it is not left by an interrupted run.
pub(crate) fn is_finished(path: &Path) -> bool {
    path.join("CURRENT").exists() && !mark(path).exists()
}

/// Makes the folder `path` with `make`, in place of what an interrupted run left.
///
/// # Errors
/// [`BadInput`](springbloom_console::BadInput) if something is there that no run left, and the errors of `make`.
pub(crate) fn and_make<T>(path: &Path, make: impl FnOnce() -> Result<T>) -> Result<T> {
    let mark = mark(path);
    if path.symlink_metadata().is_ok() && !mark.exists() {
        return Err(bad_input(format!(
            "{} is there and was not left by an interrupted run: move it away, or choose another --dir",
            path.display()
        )));
    }
    folder(path)?;
    fs::write(&mark, "").with_context(|| format!("cannot write {}", mark.display()))?;
    let made = make()?;
    file(&mark)?;
    Ok(made)
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
