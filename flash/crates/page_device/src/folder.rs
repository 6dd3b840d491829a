//! The devices of one folder. Reading leaves no file behind. It works on a read-only file system, and for a user without write permission.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lock::FolderLock;
use crate::wal::NAMES;
use crate::{FileDevice, FlashError, IoEngine, PageDevice, Storage, require_empty};

/// Mode in which a folder is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Shared with other readers.
    Read,
    /// Exclusive.
    Write,
    /// Exclusive. Creates the folder if it does not exist.
    Create,
}

/// In a folder from before the first file of what is made there until that is complete.
const UNFINISHED: &str = "unfinished";

/// The devices of one folder. Holds the folder's lock.
pub struct FileStorage {
    folder: PathBuf,
    engine: IoEngine,
    is_writable: bool,
    /// Folders that this storage created, outermost first.
    made: Vec<PathBuf>,
    lock: FolderLock,
}

impl FileStorage {
    /// Opens `folder`.
    ///
    /// # Errors [`FlashError::InUse`] if another process holds a conflicting lock, [`FlashError::NotFound`] if the creation of what is
    /// there was killed, [`FlashError::NoLocks`] or [`FlashError::Io`].
    pub fn open(folder: &Path, access: Access, engine: IoEngine) -> Result<FileStorage, FlashError> {
        let name = folder.display().to_string();
        let failed = |action| FlashError::io(action, &name);
        let made =
            if access == Access::Create { make(folder).map_err(failed("create"))? } else { Vec::new() };
        let is_writable = access != Access::Read;
        let lock = FolderLock::new(folder, is_writable)?;
        if access != Access::Create && folder.join(UNFINISHED).exists() {
            return Err(FlashError::NotFound { name, expected: "complete set or index" });
        }
        Ok(FileStorage { folder: folder.to_owned(), engine, is_writable, made, lock })
    }

    /// Opens `folder` for a structure that is there.
    ///
    /// # Errors See [`FileStorage::open`].
    pub fn shared(folder: &Path, access: Access) -> Result<Arc<dyn Storage>, FlashError> {
        Ok(Arc::new(FileStorage::open(folder, access, IoEngine::Auto)?))
    }

    /// Creates a structure with `make` in `folder`, which must be empty or absent, or hold what a creation left that was killed. If `make`
    /// fails, removes its files and the folders that were created for it.
    ///
    /// # Errors [`FlashError::NotEmpty`] if the folder contains anything.
    pub fn make<T>(
        folder: &Path,
        make: impl FnOnce(Arc<dyn Storage>) -> Result<T, FlashError>,
    ) -> Result<T, FlashError> {
        let storage = Arc::new(FileStorage::open(folder, Access::Create, IoEngine::Auto)?);
        let unfinished = folder.join(UNFINISHED);
        if unfinished.exists() {
            storage.remove_files();
        }
        require_empty(&*storage)?;
        let name = unfinished.display().to_string();
        let make_whole = || {
            let begun = File::create(&unfinished).and_then(|_| storage.lock.folder.sync_all());
            begun.map_err(FlashError::io("create", &name))?;
            let made = make(storage.clone())?;
            let finished = std::fs::remove_file(&unfinished).and_then(|()| storage.lock.folder.sync_all());
            finished.map_err(FlashError::io("remove", &name))?;
            Ok(made)
        };
        make_whole().inspect_err(|_| storage.undo_creation())
    }

    fn remove_files(&self) {
        // What stays is in the way of the next creation, which says so.
        for name in self.names().unwrap_or_default() {
            let _ = self.remove(&name);
        }
    }

    /// Undoes a failed creation: removes everything in the folder, and the folders that did not exist before.
    fn undo_creation(&self) {
        // Errors here are ignored. The caller gets the error of the creation.
        self.remove_files();
        let _ = self.remove(UNFINISHED);
        for folder in self.made.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Creates `folder` and its parents durably. Returns the folders that did not exist, outermost first.
fn make(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing = folder.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    for folder in &missing {
        // Another process may make it at the same time; the lock says which one goes on.
        match std::fs::create_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            made => made?,
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(missing)
}

impl Storage for FileStorage {
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>> {
        let device = FileDevice::create(&self.folder.join(name), len_bytes, self.engine)?;
        self.lock.folder.sync_all()?;
        if name == NAMES[0] {
            self.lock.lock_log().map_err(io::Error::other)?;
        }
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
        names.retain(|name| name != UNFINISHED);
        names.sort();
        Ok(names)
    }

    fn free_bytes(&self) -> Option<u64> {
        let found = rustix::fs::fstatvfs(&self.lock.folder).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
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
            let refused = open(folder.path(), access);
            assert!(matches!(refused, Err(FlashError::InUse { is_own: true, .. })), "{access:?}");
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
    fn a_failure_leaves_what_was_there_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let full = |storage: Arc<dyn Storage>| -> Result<(), FlashError> {
            storage.create("half", 4096).unwrap();
            Err(FlashError::io("write", "half")(io::ErrorKind::StorageFull.into()))
        };
        assert!(FileStorage::make(&folder.path().join("new/deep"), full).is_err());
        assert!(!folder.path().join("new").exists());
        let empty = folder.path().join("empty");
        std::fs::create_dir(&empty).unwrap();
        assert!(FileStorage::make(&empty, full).is_err());
        assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0);
        assert!(matches!(open(&folder.path().join("none"), Access::Read), Err(FlashError::Io { .. })));
    }

    #[test]
    fn a_creation_that_was_killed_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let killed = std::panic::catch_unwind(|| {
            FileStorage::make(folder.path(), |storage| -> Result<(), FlashError> {
                storage.create("half", 4096).unwrap();
                panic!("killed");
            })
        });
        assert!(killed.is_err() && folder.path().join("half").exists());
        for access in [Access::Read, Access::Write] {
            assert!(matches!(open(folder.path(), access), Err(FlashError::NotFound { .. })), "{access:?}");
        }
        let whole = |storage: Arc<dyn Storage>| {
            storage.create("whole", 4096).map_err(FlashError::io("create", "whole"))
        };
        FileStorage::make(folder.path(), whole).unwrap();
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["whole"]);
        assert!(open(folder.path(), Access::Write).is_ok());
    }

    #[test]
    fn a_folder_that_holds_something_is_refused_with_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["records", "log-a", "notes", "a", "b"] {
            std::fs::write(folder.path().join(name), "mine").unwrap();
        }
        let refused =
            FileStorage::make(folder.path(), |_| -> Result<(), FlashError> { panic!("nothing is made") });
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("it holds a, b, log-a, notes and 1 more"), "{message}");
        assert!(FileStorage::make(&folder.path().join("a"), |_| Ok(())).is_err(), "a file is no folder");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5);
    }
}
