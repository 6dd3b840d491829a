//! Folders for something new: nothing that was there before is overwritten, and what a failure leaves is taken away again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::flash::{FlashError, explain};
use crate::failure::bad_input;

/// Names that a message lists.
const NAMES_MAX: usize = 4;

/// Makes something in `folder`, which must be empty or not exist. If `make` fails, its files go again, and the folders that it made.
pub(crate) fn make_in<T>(folder: &Path, make: impl FnOnce() -> Result<T, FlashError>) -> Result<T> {
    require_empty(folder)?;
    let missing = missing_folders(folder);
    make().map_err(|error| {
        // In these cases, another process is at work there, and the files are its own.
        if !matches!(error, FlashError::InUse { .. } | FlashError::AlreadyExists { .. }) {
            take_away(folder, &missing);
        }
        explain(error)
    })
}

/// Whether there is nothing in `folder` that could be opened.
pub(crate) fn is_vacant(folder: &Path) -> Result<bool> {
    Ok(names_in(folder)?.is_empty())
}

fn require_empty(folder: &Path) -> Result<()> {
    let mut names = names_in(folder)?;
    if names.is_empty() {
        return Ok(());
    }
    names.sort();
    let more = names.len().saturating_sub(NAMES_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.truncate(NAMES_MAX);
    Err(bad_input(format!(
        "{} exists already and is not empty: it holds {}{more}. Give the name of a new or an empty folder",
        folder.display(),
        names.join(", ")
    )))
}

/// Names of everything in `folder`; none if it does not exist.
fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot look into {}", folder.display()))?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    Ok(names.collect::<io::Result<_>>()?)
}

/// `folder` and the folders above it that do not exist, innermost first.
fn missing_folders(folder: &Path) -> Vec<PathBuf> {
    let above = folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists());
    above.map(Path::to_owned).collect()
}

/// Takes away the files in `folder` and the folders in `made`. Whatever cannot be taken away stays: the failure before it is what counts.
fn take_away(folder: &Path, made: &[PathBuf]) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let _ = fs::remove_file(entry.path());
        }
    }
    for folder in made {
        // Fails, as it should, where there is something else by now.
        let _ = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fail_in(folder: &Path, error: FlashError) -> anyhow::Error {
        make_in(folder, || -> Result<(), FlashError> {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("half"), "half").unwrap();
            Err(error)
        })
        .unwrap_err()
    }

    fn full_disk() -> FlashError {
        FlashError::Io { action: "write", name: "half".to_owned(), source: io::ErrorKind::StorageFull.into() }
    }

    #[test]
    fn a_failure_leaves_what_was_there_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        fail_in(&dir.path().join("new/set"), full_disk());
        assert!(!dir.path().join("new").exists());
        let empty = dir.path().join("empty");
        fs::create_dir(&empty).unwrap();
        fail_in(&empty, full_disk());
        assert!(is_vacant(&empty).unwrap() && empty.exists());
        let theirs = dir.path().join("theirs");
        fail_in(&theirs, FlashError::InUse { name: "theirs".to_owned() });
        assert!(theirs.join("half").exists(), "another process made it");
    }

    #[test]
    fn a_folder_that_holds_something_is_refused_with_what_it_holds() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["records", "log-a", "notes", "a", "b"] {
            fs::write(dir.path().join(name), "mine").unwrap();
        }
        let refused = make_in(dir.path(), || -> Result<(), FlashError> { panic!("nothing is made") });
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("it holds a, b, log-a, notes and 1 more"), "{message}");
        assert!(make_in(&dir.path().join("a"), || Ok(())).is_err(), "a file is no folder");
        assert_eq!(names_in(dir.path()).unwrap().len(), 5);
    }
}
