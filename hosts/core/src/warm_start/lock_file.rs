//! The lock file of a database: the process that has it open may write into the database's folder.

use std::{collections::HashSet, fs, os::unix::fs::MetadataExt, path::Path};

use crate::engine::Engine;

/// Where the system shows the files that this process has open.
const OPEN_FILES: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

/// Whether this process has the database open for writing, for each of these folders. An engine then keeps the lock file open, and it opens
/// none for reading only. Also `true` where the system does not tell. Looks once at all open files of the process.
pub(crate) fn held<'f>(engine: &Engine, folders: impl Iterator<Item = &'f Path>) -> Vec<bool> {
    let identity = |file: fs::Metadata| (file.dev(), file.ino());
    let open: Option<HashSet<_>> = fs::read_dir(OPEN_FILES).ok().map(|open| {
        open.flatten().filter_map(|entry| fs::metadata(entry.path()).ok()).map(identity).collect()
    });
    let is_held = |folder: &Path| {
        let lock = fs::metadata(folder.join(engine.lock_file.text())).map(identity);
        lock.is_ok_and(|lock| open.as_ref().is_none_or(|open| open.contains(&lock)))
    };
    folders.map(is_held).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::engine::test_engine::TEST_ENGINE;

    #[test]
    fn a_lock_is_held_while_it_is_open_here() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("folder"));
        let are_held = || held(&TEST_ENGINE, folders.iter().map(|folder| folder.path()));
        let lock = |at: usize| File::create(folders[at].path().join("LOCK")).expect("create");
        assert_eq!(are_held(), [false, false]);
        let second = lock(1);
        drop(lock(0));
        assert_eq!(are_held(), [false, true]);
        let _first = lock(0);
        drop(second);
        assert_eq!(are_held(), [true, false]);
    }
}
