//! The lock file of a database: the process that has it open may write into the database's folder.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use crate::Engine;

/// Where the system shows the files that this process has open.
const OPEN_FILES: &str = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };

/// Whether this process has the database in `folder` open for writing. An engine then keeps the lock file open, and it opens none for
/// reading only. Also `true` where the system does not tell. Looks at all open files of the process.
pub(crate) fn is_held(engine: &Engine, folder: &Path) -> bool {
    let Ok(lock) = fs::metadata(folder.join(engine.lock_file.text())) else { return false };
    let Ok(open) = fs::read_dir(OPEN_FILES) else { return true };
    let is_lock = |file: fs::Metadata| file.dev() == lock.dev() && file.ino() == lock.ino();
    open.flatten().any(|entry| fs::metadata(entry.path()).is_ok_and(is_lock))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::test_engine::TEST_ENGINE;

    #[test]
    fn a_lock_is_held_while_it_is_open_here() {
        let folder = tempfile::tempdir().expect("folder");
        assert!(!is_held(&TEST_ENGINE, folder.path()));
        let lock = File::create(folder.path().join("LOCK")).expect("create");
        assert!(is_held(&TEST_ENGINE, folder.path()));
        drop(lock);
        assert!(!is_held(&TEST_ENGINE, folder.path()));
    }
}
