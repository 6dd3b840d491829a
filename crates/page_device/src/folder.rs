//! The devices of one folder, and who may have it open.
//!
//! The folder itself is locked, by one writer or by any number of readers: reading leaves no file behind, works on a read-only
//! file system, and as a user who may only read.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{FileDevice, FlashError, IoEngine, PageDevice, Storage};

/// What a folder is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Beside other readers, never beside a writer.
    Read,
    /// Alone.
    Write,
    /// Alone; the folder is made if it does not exist.
    Create,
}

/// The devices of one folder. Holds the folder's lock.
pub struct FileStorage {
    folder: PathBuf,
    engine: IoEngine,
    is_writable: bool,
    /// Folders that this storage made, the outermost first.
    made: Vec<PathBuf>,
    lock: File,
}

impl FileStorage {
    /// Opens `folder`.
    ///
    /// # Errors
    /// [`FlashError::InUse`] when another process has it open in a way that excludes this one; [`FlashError::Io`].
    pub fn open(folder: &Path, access: Access, engine: IoEngine) -> Result<FileStorage, FlashError> {
        let name = folder.display().to_string();
        let failed = |action| FlashError::io(action, &name);
        let made =
            if access == Access::Create { make(folder).map_err(failed("create"))? } else { Vec::new() };
        let lock = File::open(folder).map_err(failed("open"))?;
        if !lock.metadata().is_ok_and(|found| found.is_dir()) {
            return Err(failed("open")(io::ErrorKind::NotADirectory.into()));
        }
        let is_writable = access != Access::Read;
        match if is_writable { lock.try_lock() } else { lock.try_lock_shared() } {
            Ok(()) => Ok(FileStorage { folder: folder.to_owned(), engine, is_writable, made, lock }),
            Err(TryLockError::WouldBlock) => Err(FlashError::InUse { name }),
            Err(TryLockError::Error(e)) => Err(failed("lock")(e)),
        }
    }

    /// Takes back what a failed creation has made: all that is in the folder, and the folders that did not exist before.
    pub fn undo_creation(self) {
        // What cannot be removed stays; the failure that led here is what the caller is told.
        for name in self.names().unwrap_or_default() {
            let _ = self.remove(&name);
        }
        for folder in self.made.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Makes `folder` and the folders that it lies in, durably; returns those that did not exist, the outermost first.
fn make(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    for folder in &missing {
        std::fs::create_dir(folder)?;
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(missing)
}

impl Storage for FileStorage {
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>> {
        let device = FileDevice::create(&self.folder.join(name), len_bytes, self.engine)?;
        self.lock.sync_all()?;
        Ok(Arc::new(device))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>> {
        Ok(Arc::new(FileDevice::open(&self.folder.join(name), self.is_writable, self.engine)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.folder.join(name))
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(names)
    }

    fn is_writable(&self) -> bool {
        self.is_writable
    }

    fn describe(&self, name: &str) -> String {
        if name.is_empty() {
            self.folder.display().to_string()
        } else {
            self.folder.join(name).display().to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &Path, access: Access) -> Result<FileStorage, FlashError> {
        FileStorage::open(folder, access, IoEngine::Auto)
    }

    #[test]
    fn a_folder_has_one_writer_or_any_number_of_readers_and_no_file_of_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        let writer = open(folder.path(), Access::Write).unwrap();
        for access in [Access::Read, Access::Write, Access::Create] {
            assert!(matches!(open(folder.path(), access), Err(FlashError::InUse { .. })), "{access:?}");
        }
        drop(writer);
        let readers = [(); 3].map(|()| open(folder.path(), Access::Read).unwrap());
        assert!(matches!(open(folder.path(), Access::Write), Err(FlashError::InUse { .. })));
        assert!(readers[0].create("x", 0).is_ok(), "locks do not guard the folder against its owner");
        readers[0].remove("x").unwrap();
        drop(readers);
        assert_eq!(open(folder.path(), Access::Write).unwrap().names().unwrap(), [""; 0]);
    }

    #[test]
    fn a_creation_that_is_undone_leaves_what_was_there_before() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        let storage = open(&deep, Access::Create).unwrap();
        storage.create("x", 4096).unwrap();
        storage.undo_creation();
        assert!(!folder.path().join("a").exists() && folder.path().exists());
        assert!(matches!(open(&deep, Access::Read), Err(FlashError::Io { .. })));
    }
}
