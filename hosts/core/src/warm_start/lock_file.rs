//! The lock file of a database: the process that has it open may write into the database's folder.

use std::{fs, path::Path};

use crate::engine::Engine;

/// Whether this process has the database in the folder open for writing. An engine then keeps the lock file open, and it opens none for
/// reading only. Also `true` where the system does not tell. Compares the names of the files that this process has open: to look at the
/// files themselves would touch those of other databases.
pub(crate) fn is_held(engine: &Engine, folder: &Path) -> bool {
    let Ok(lock) = fs::canonicalize(folder.join(engine.lock_file.text())) else { return false };
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return true };
    open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|path| path == lock))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::symlink};

    use super::*;
    use crate::engine::test_engine::TEST_ENGINE;

    #[test]
    fn a_lock_is_held_while_it_is_open_here() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("folder"));
        let are_held = || folders.each_ref().map(|folder| is_held(&TEST_ENGINE, folder.path()));
        let lock = |at: usize| File::create(folders[at].path().join("LOCK")).expect("create");
        assert_eq!(are_held(), [false, false]);
        let second = lock(1);
        drop(lock(0));
        assert_eq!(are_held(), [false, true]);
        let link = folders[0].path().join("link");
        symlink(folders[1].path(), &link).expect("a link");
        assert!(is_held(&TEST_ENGINE, &link), "whatever leads there");
        let _first = lock(0);
        drop(second);
        assert_eq!(are_held(), [true, false]);
    }
}
