//! The index's own files, which a scan skips: scanning them would change them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files::{FileId, id_of};

/// The folder of the index and the files in it.
pub(super) struct OwnIndex {
    folder: PathBuf,
    ids: HashSet<FileId>,
}

impl OwnIndex {
    /// The files of the index in `folder`, which must exist.
    pub(super) fn of(folder: &Path) -> io::Result<OwnIndex> {
        let mut ids = HashSet::from([id_of(&fs::metadata(folder)?)]);
        for entry in fs::read_dir(folder)? {
            ids.insert(id_of(&entry?.metadata()?));
        }
        Ok(OwnIndex { folder: folder.canonicalize()?, ids })
    }

    /// Whether `id` is the folder or a file in it, under any name.
    pub(super) fn is(&self, id: FileId) -> bool {
        self.ids.contains(&id)
    }

    /// Whether `path` leads into the folder.
    pub(super) fn holds(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path.starts_with(&self.folder))
    }
}
