//! The hotness file of a folder of tables. It is read as a whole and replaced as a whole.
//!
//! The new file is written beside the old one, synced, and renamed: a crash leaves one of the two. The file is accessed through the
//! operating system, whatever file system the engine has. A database that lies elsewhere has no such folder, and starts cold.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use parking_lot::Mutex;
use springbloom_format::{FormatError, StoredHotness};

use crate::{Engine, Name};

/// Enough for 5 million segments, which is more than one machine serves.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Why a hotness file is not used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// It cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// It is damaged or newer.
    #[error("{0}")]
    Format(#[from] FormatError),
    /// It is too large.
    #[error("it has {got} bytes, expected at most {FILE_BYTES_MAX}")]
    TooLarge {
        /// Its bytes.
        got: u64,
    },
}

/// Reads the folder's file. `None` if there is none.
pub fn read(engine: &Engine, folder: &Path) -> Result<Option<StoredHotness>, Unusable> {
    let [former, _] = engine.former_hotness_files;
    for name in [Some(engine.hotness_file), former].into_iter().flatten() {
        let path = folder.join(name.text());
        match fs::metadata(&path) {
            // Opening a pipe would wait for its writer.
            Ok(metadata) if !metadata.is_file() => {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file").into());
            }
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

/// Replaces the folder's file. Makes no folder, and writes to none without a database. Only the process with the database's lock may call
/// it: two processes would write the same file.
pub(crate) fn replace(engine: &Engine, folder: &Path, hotness: &StoredHotness) -> io::Result<()> {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one_at_a_time = WRITING.lock();
    if !folder.join(engine.database_file.text()).exists() {
        return Ok(());
    }
    let new = folder.join(engine.hotness_file_new.text());
    // A new file: never a killed process's remains, nor a link to elsewhere.
    remove(&new)?;
    let mut file = File::create_new(&new)?;
    file.write_all(&hotness.encode())?;
    file.sync_all()?;
    fs::rename(&new, folder.join(engine.hotness_file.text()))?;
    for former in engine.former_hotness_files.into_iter().flatten().map(Name::text) {
        remove(&folder.join(former))?;
    }
    File::open(folder)?.sync_all()
}

/// Deletes a file if it is there.
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
    use crate::test_engine::TEST_ENGINE;

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let made = Command::new("mkfifo")
            .arg(folder.path().join(TEST_ENGINE.hotness_file.text()))
            .status()
            .expect("mkfifo runs");
        assert!(made.success());
        assert!(matches!(read(&TEST_ENGINE, folder.path()), Err(Unusable::Io(_))));
    }

    #[test]
    fn a_link_in_the_way_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "theirs").expect("write");
        fs::write(folder.path().join(TEST_ENGINE.database_file.text()), "").expect("write");
        symlink(&elsewhere, folder.path().join(TEST_ENGINE.hotness_file_new.text())).expect("symlink");
        replace(&TEST_ENGINE, folder.path(), &StoredHotness::default()).expect("replace");
        assert_eq!(fs::read(&elsewhere).expect("read"), b"theirs");
        assert!(matches!(read(&TEST_ENGINE, folder.path()), Ok(Some(_))));
    }
}
