//! The lock of a folder: one writer, or any number of readers. No file is made for it, so that reading writes nothing.
//!
//! Two things are locked. The folder itself excludes all processes of this machine, also those of earlier releases. Network file systems do
//! not lock folders for other machines, and some refuse to. So the first file of the log is locked as well once it is there, by a
//! descriptor that a lock of the same kind needs: open for writing if the lock is exclusive.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::FlashError;
use crate::high::high;
use crate::wal::NAMES;

/// Numbers of network file systems and their names, of those that have no locks by default or only within a machine.
const FILE_SYSTEMS: [(u64, &str); 8] = [
    (0x6969, "NFS, a network file system"),
    (0xff53_4d42, "SMB, a network file system"),
    (0xfe53_4d42, "SMB, a network file system"),
    (0x00c3_6400, "Ceph, a network file system"),
    (0x5346_414f, "AFS, a network file system"),
    (0x0bd0_0bd0, "Lustre, a network file system"),
    (0x0102_1997, "9p, a file system of another machine"),
    (0x6573_5546, "FUSE, a file system of another program"),
];

/// A folder that is locked until this is dropped.
pub struct FolderLock {
    path: PathBuf,
    /// The folder itself.
    pub(crate) folder: File,
    is_exclusive: bool,
    /// The file of the log that is locked.
    log: OnceLock<File>,
}

impl FolderLock {
    /// # Errors [`FlashError::InUse`], [`FlashError::NoLocks`] or [`FlashError::Io`].
    pub fn new(folder: &Path, is_exclusive: bool) -> Result<FolderLock, FlashError> {
        let name = folder.display().to_string();
        let opened = File::open(folder).and_then(high).and_then(|opened| match opened.metadata()?.is_dir() {
            true => Ok(opened),
            false => Err(io::ErrorKind::NotADirectory.into()),
        });
        let file = opened.map_err(FlashError::io("open", &name))?;
        let refused = refusal(lock(&file, is_exclusive)).ok_or_else(|| in_use(folder))?;
        let lock = FolderLock { path: folder.to_owned(), folder: file, is_exclusive, log: OnceLock::new() };
        let is_locked = lock.lock_log()?;
        match refused {
            Some(source) if !is_locked => Err(no_locks(folder, source)),
            _ => Ok(lock),
        }
    }

    /// Locks the log, if it is there. Returns whether it is locked. A file system that locks folders need not lock files.
    pub(crate) fn lock_log(&self) -> Result<bool, FlashError> {
        let log = self.path.join(NAMES[0]);
        // Who opens the log says what is wrong with it. Opening a pipe would wait.
        if !std::fs::metadata(&log).is_ok_and(|found| found.is_file()) {
            return Ok(false);
        }
        let opened = OpenOptions::new().read(true).write(self.is_exclusive).open(log).and_then(high);
        let Ok(file) = opened else { return Ok(false) };
        // Not by this process, which would have the folder locked.
        let in_use = || FlashError::InUse { name: self.path.display().to_string(), is_own: false };
        let is_locked = refusal(lock(&file, self.is_exclusive)).ok_or_else(in_use)?.is_none();
        if is_locked {
            let _ = self.log.set(file);
        }
        Ok(is_locked)
    }
}

impl Drop for FolderLock {
    /// A process that was forked meanwhile has the files open as well. Closing them here alone would leave the folder locked.
    fn drop(&mut self) {
        // An error cannot be told from here. The lock goes with the last process.
        for file in self.log.get().into_iter().chain([&self.folder]) {
            let _ = file.unlock();
        }
    }
}

fn lock(file: &File, is_exclusive: bool) -> Result<(), TryLockError> {
    if is_exclusive { file.try_lock() } else { file.try_lock_shared() }
}

/// The error of a file system that does not lock. `None` if somebody else has the lock.
fn refusal(locked: Result<(), TryLockError>) -> Option<Option<io::Error>> {
    match locked {
        Ok(()) => Some(None),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(error)) => Some(Some(error)),
    }
}

/// The error for a locked `folder`.
fn in_use(folder: &Path) -> FlashError {
    FlashError::InUse { name: folder.display().to_string(), is_own: is_locked_here(folder) }
}

/// Whether this process has locked `folder`, as far as the system tells.
fn is_locked_here(folder: &Path) -> bool {
    let (Ok(found), Ok(locks)) = (folder.metadata(), std::fs::read_to_string("/proc/locks")) else {
        return false;
    };
    let (process, inode) = (std::process::id().to_string(), found.ino().to_string());
    // Such as "1: FLOCK  ADVISORY  WRITE 123 fe:00:456 0 EOF".
    locks.lines().any(|lock| match *lock.split_whitespace().collect::<Vec<_>>() {
        [_, "FLOCK", _, _, holder, file, ..] => holder == process && file.rsplit(':').next() == Some(&inode),
        _ => false,
    })
}

/// The error for a `folder` that cannot be locked.
fn no_locks(folder: &Path, source: io::Error) -> FlashError {
    let kind = rustix::fs::statfs(folder).map_or(0, |found| found.f_type as u64 & 0xffff_ffff);
    let known = FILE_SYSTEMS.iter().find(|(number, _)| *number == kind);
    let file_system = known.map_or_else(|| format!("of type {kind:#x}"), |(_, name)| (*name).to_owned());
    FlashError::NoLocks { name: folder.display().to_string(), file_system, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_another_machine_has_locked_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join(NAMES[0]);
        std::fs::write(&log, "log").unwrap();
        let of_another = File::open(&log).unwrap();
        for (theirs, ours, is_free) in
            [(true, true, false), (true, false, false), (false, true, false), (false, false, true)]
        {
            lock(&of_another, theirs).unwrap();
            let opened = FolderLock::new(folder.path(), ours);
            assert_eq!(opened.is_ok(), is_free, "{theirs} {ours}");
            assert!(is_free || matches!(opened, Err(FlashError::InUse { is_own: false, .. })));
            of_another.unlock().unwrap();
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no file of a lock");
    }

    #[test]
    fn a_log_that_was_made_later_is_locked_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::new(folder.path(), true).unwrap();
        assert!(!lock.lock_log().unwrap(), "there is none");
        let log = folder.path().join(NAMES[0]);
        std::fs::write(&log, "log").unwrap();
        assert!(lock.lock_log().unwrap());
        let of_another = File::open(&log).unwrap();
        assert!(matches!(of_another.try_lock_shared(), Err(TryLockError::WouldBlock)));
        drop(lock);
        of_another.try_lock_shared().unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_locked_names_its_file_system() {
        let error = no_locks(Path::new("/proc"), io::Error::from_raw_os_error(libc::EBADF));
        let message = error.to_string();
        assert!(
            message.contains("/proc") && message.contains("of type 0x9fa0") && message.contains("local"),
            "{message}"
        );
    }
}
