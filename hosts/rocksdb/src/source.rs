//! Where a table's filter units are on disk, and how the manager's background thread reads them.
//!
//! There is one [`TableFile`] for every known table, so what it holds is small: whatever the tables of a folder have in common is in
//! their [`Place`].

use std::{ffi::OsStr, io, ops::Range, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use springbloom_format::{FormatError, UnitLayout};
use springbloom_manager::{HostBytes, UnitReadError, UnitSource, allocated_bytes};

use crate::{
    ffi::FileAccess,
    folders::{Folder, place_of},
    open_table::OpenTable,
    table_files::TableFiles,
};

/// Where tables are and how they are opened.
#[derive(Debug)]
pub(crate) struct Place {
    /// The folder in which files have the names that RocksDB gives tables, or the path of a single file with another name.
    path: Vec<u8>,
    is_folder: bool,
    files: FileAccess,
    /// Remembers the tables; `None` if nobody does.
    folder: Option<Arc<Folder>>,
}

/// Number in the name that RocksDB gives a table, and the length of the folder's path before it.
fn number_and_folder(path: &[u8]) -> Option<(u64, usize)> {
    let slash = path.iter().rposition(|&byte| byte == b'/')?;
    let name = str::from_utf8(&path[slash + 1..]).ok()?;
    let number = name.strip_suffix(".sst")?.parse().ok()?;
    (name == name_of(number)).then_some((number, slash))
}

fn name_of(number: u64) -> String {
    format!("{number:06}.sst")
}

impl Place {
    /// The place of the file at `path`, and the file's number there.
    pub(crate) fn of(path: &[u8], files: FileAccess, folder: Option<Arc<Folder>>) -> (Self, u64) {
        let (number, is_folder, length) = match number_and_folder(path) {
            Some((number, slash)) => (number, true, slash),
            None => {
                let named = place_of(Path::new(OsStr::from_bytes(path)));
                (named.map_or(0, |(_, number)| number), false, path.len())
            }
        };
        (Self { path: path[..length].to_vec(), is_folder, files, folder }, number)
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let folder = |place: &Self| place.folder.as_ref().map(Arc::as_ptr);
        self.is_folder == other.is_folder
            && self.path == other.path
            && folder(self) == folder(other)
            && self.files.is_same(&other.files)
    }

    fn path_of(&self, number: u64) -> Vec<u8> {
        let mut path = self.path.clone();
        if self.is_folder {
            path.push(b'/');
            path.extend(name_of(number).as_bytes());
        }
        path
    }
}

/// The filter block of one table file.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) place: Arc<Place>,
    /// In the file's name; 0 for a name without one.
    pub(crate) number: u64,
    /// Identity that outlives the process and the place of the file.
    pub(crate) stored_id: u128,
    /// Where in the file the filter block begins.
    pub(crate) block_offset: u64,
    pub(crate) layout: UnitLayout,
    /// What C++ allocates for a reader.
    pub(crate) reader_bytes: u32,
}

impl TableFile {
    /// Whether the file is still there. Touches the file system.
    pub(crate) fn exists(&self) -> bool {
        self.place.files.exists(&self.place.path_of(self.number))
    }

    /// Whether the file is the one at `path`.
    pub(crate) fn is_at(&self, path: &[u8]) -> bool {
        match number_and_folder(path) {
            Some((number, slash)) => {
                self.place.is_folder && self.number == number && self.place.path == path[..slash]
            }
            None => !self.place.is_folder && self.place.path == path,
        }
    }

    /// What remembers the table.
    pub(crate) fn folder(&self) -> Option<&Arc<Folder>> {
        self.place.folder.as_ref()
    }

    fn read(&self, span: Range<u64>) -> Result<Vec<u8>, UnitReadError> {
        let size = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|error| UnitReadError::Io(io::Error::other(error)))?;
        bytes.resize(size, 0);
        let offset = self.block_offset + span.start;
        match self.place.files.read(&self.place.path_of(self.number), offset, &mut bytes) {
            true => Ok(bytes),
            // Of a table whose reader was closed before the file was deleted.
            false if !self.exists() => Err(UnitReadError::Gone),
            false => Err(UnitReadError::Io(io::Error::other("RocksDB's file system failed"))),
        }
    }
}

impl UnitSource for TableFile {
    fn host_bytes(&self) -> HostBytes {
        const COUNTS_OF_ARC: usize = 2 * size_of::<usize>();
        HostBytes {
            table: allocated_bytes(COUNTS_OF_ARC + size_of::<Self>())
                + allocated_bytes(self.layout.memory_bytes() - size_of::<UnitLayout>())
                + TableFiles::TABLE_BYTES,
            reader: allocated_bytes(self.reader_bytes as usize) + allocated_bytes(size_of::<OpenTable>()),
        }
    }

    fn read_unit(&self, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        let bytes = self.read(self.layout.unit_span(segment, unit))?;
        self.layout.decode_unit(segment, unit, &bytes).map(<[u8]>::to_vec).map_err(corrupt)
    }

    fn read_row(
        &self,
        unit: u8,
        _segments: u32,
        visit: &mut dyn FnMut(u32, Result<&[u8], UnitReadError>),
    ) -> Result<(), UnitReadError> {
        let bytes = self.read(self.layout.row_span(unit))?;
        for (segment, unit) in self.layout.decode_row(unit, &bytes) {
            visit(segment, unit.map_err(corrupt));
        }
        Ok(())
    }
}

fn corrupt(error: FormatError) -> UnitReadError {
    UnitReadError::Corrupt(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_rocksdb_gives_are_put_together_again() {
        for (path, expected) in [
            ("/db/000012.sst", Some((12, 3))),
            ("/db//1234567.sst", Some((1_234_567, 4))),
            ("/000001.sst", Some((1, 0))),
            ("000012.sst", None),
            ("/db/12.sst", None),
            ("/db/+00012.sst", None),
            ("/db/000012.ldb", None),
            ("/db/new.sst", None),
        ] {
            let split = number_and_folder(path.as_bytes());
            assert_eq!(split, expected, "{path}");
            if let Some((number, slash)) = split {
                assert_eq!(format!("{}/{}", &path[..slash], name_of(number)), path);
            }
        }
    }
}
