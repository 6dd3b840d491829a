//! The hotness file of a folder of tables: read whole, replaced whole.
//!
//! A crash at any moment leaves the old file or the new one: the new one is written beside it, synced, and renamed. Goes through the
//! operating system's file system whatever RocksDB was given: a database that lives elsewhere has no such folder, and starts cold.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
    sync::Mutex,
};

use springbloom_format::{FormatError, StoredHotness};

use crate::mutex::lock;

/// The file beside a database's tables that remembers their use over a restart. RocksDB takes it for a temporary OPTIONS file
/// (`ParseFileName`), which `DestroyDB` deletes with the database, and which nothing else reads, deletes or copies.
pub const FILE_NAME: &str = "OPTIONS-0-SPRINGBLOOM-HOTNESS.dbtmp";
const NEW_FILE_NAME: &str = "OPTIONS-0-SPRINGBLOOM-HOTNESS-NEW.dbtmp";
/// What it was called before, which RocksDB gives no meaning to: still read, and deleted when there is the other one.
const OLD_FILE_NAMES: [&str; 2] = ["SPRINGBLOOM-HOTNESS", "SPRINGBLOOM-HOTNESS.new"];
/// No database of a size that one machine serves needs more: 5 million segments.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Why a hotness file is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Format(#[from] FormatError),
    #[error("it has {got} bytes, expected at most {FILE_BYTES_MAX}")]
    TooLarge { got: u64 },
    #[error("it is not a regular file")]
    NotAFile,
}

/// What the folder's file says; `None` if there is none.
pub(crate) fn read(folder: &Path) -> Result<Option<StoredHotness>, Unusable> {
    for name in [FILE_NAME, OLD_FILE_NAMES[0]] {
        let path = folder.join(name);
        match fs::metadata(&path) {
            // To open a pipe would wait for its writer.
            Ok(metadata) if !metadata.is_file() => return Err(Unusable::NotAFile),
            Ok(_) => return decode(File::open(path)?).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn decode(file: File) -> Result<StoredHotness, Unusable> {
    let got = file.metadata()?.len();
    if got > FILE_BYTES_MAX {
        return Err(Unusable::TooLarge { got });
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(StoredHotness::decode(&bytes)?)
}

/// Replaces the folder's file. Never makes a folder; one that is no database's (any more) gets no file. For the process that holds the
/// database's lock: two processes would write one file.
pub(crate) fn replace(folder: &Path, hotness: &StoredHotness) -> io::Result<()> {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = lock(&WRITING);
    if !folder.join("CURRENT").exists() {
        return Ok(());
    }
    let new = folder.join(NEW_FILE_NAME);
    // What a killed process left, or a link to elsewhere, is not written to.
    remove(&new)?;
    let mut file = File::create_new(&new)?;
    file.write_all(&hotness.encode())?;
    file.sync_all()?;
    fs::rename(&new, folder.join(FILE_NAME))?;
    for old in OLD_FILE_NAMES {
        remove(&folder.join(old))?;
    }
    File::open(folder)?.sync_all()
}

/// Deletes a file that need not be there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = Command::new("mkfifo").arg(folder.path().join(FILE_NAME)).status().expect("mkfifo runs");
        assert!(made.success());
        assert!(matches!(read(folder.path()), Err(Unusable::NotAFile)));
    }

    #[test]
    fn a_link_in_the_way_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "theirs").expect("write");
        fs::write(folder.path().join("CURRENT"), "").expect("write");
        symlink(&elsewhere, folder.path().join(NEW_FILE_NAME)).expect("symlink");
        replace(folder.path(), &StoredHotness::default()).expect("replace");
        assert_eq!(fs::read(&elsewhere).expect("read"), b"theirs");
        assert!(matches!(read(folder.path()), Ok(Some(_))));
    }
}
