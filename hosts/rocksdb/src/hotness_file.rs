//! The hotness file of a folder of tables: read whole, replaced whole.
//!
//! A crash at any moment leaves the old file or the new one: the new one is written beside it, synced, and renamed. Goes through the
//! operating system's file system whatever RocksDB was given: a database that lives elsewhere has no such folder, and starts cold.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use springbloom_format::{FormatError, StoredHotness};

/// The file beside a database's tables that remembers their use over a restart. Not a name that RocksDB gives a meaning to
/// (`ParseFileName`), so that it neither reads, deletes nor copies it.
pub const FILE_NAME: &str = "SPRINGBLOOM-HOTNESS";
const NEW_FILE_NAME: &str = "SPRINGBLOOM-HOTNESS.new";
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
}

/// What the folder's file says; `None` if there is none.
pub(crate) fn read(folder: &Path) -> Result<Option<StoredHotness>, Unusable> {
    let file = match File::open(folder.join(FILE_NAME)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let got = file.metadata()?.len();
    if got > FILE_BYTES_MAX {
        return Err(Unusable::TooLarge { got });
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(StoredHotness::decode(&bytes)?))
}

/// Replaces the folder's file. Never makes a folder; one that is no database's (any more) gets no file.
pub(crate) fn replace(folder: &Path, hotness: &StoredHotness) -> io::Result<()> {
    if !folder.join("CURRENT").exists() {
        return Ok(());
    }
    let new = folder.join(NEW_FILE_NAME);
    let mut file = File::create(&new)?;
    file.write_all(&hotness.encode())?;
    file.sync_all()?;
    fs::rename(&new, folder.join(FILE_NAME))?;
    File::open(folder)?.sync_all()
}
