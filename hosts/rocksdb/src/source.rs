//! Where a table's filter units are on disk, and how the manager's background thread reads them.
//!
//! There is one [`TableFile`] for every known table, so what it holds is small: whatever the tables of a folder have in common is in
//! their [`Place`], and the sizes of units follow from the shapes that the manager keeps.

use std::{ffi::OsStr, io, ops::Range, os::unix::ffi::OsStrExt, path::Path, sync::Arc};

use springbloom_filter::GroupShape;
use springbloom_format::{FormatError, UnitLayout};
use springbloom_manager::{UnitReadError, UnitSource, allocated_bytes};

use crate::{
    ffi::FileAccess,
    folders::{Folder, place_of},
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
    /// What a reader of one of its tables takes, whatever else it does.
    reader_bytes: usize,
}

/// Number in the name that RocksDB gives a table, and the length of the folder's path before it.
fn number_and_folder(path: &[u8]) -> Option<(U48, usize)> {
    let slash = path.iter().rposition(|&byte| byte == b'/')?;
    let name = str::from_utf8(&path[slash + 1..]).ok()?;
    let number = U48::new(name.strip_suffix(".sst")?.parse().ok()?)?;
    (name == name_of(number)).then_some((number, slash))
}

fn name_of(number: U48) -> String {
    format!("{:06}.sst", number.get())
}

impl Place {
    /// The place of the file at `path`, and the file's number there.
    pub(crate) fn of(
        path: &[u8],
        files: FileAccess,
        folder: Option<Arc<Folder>>,
        reader_bytes: usize,
    ) -> (Self, U48) {
        let (number, is_folder, length) = match number_and_folder(path) {
            Some((number, slash)) => (number, true, slash),
            None => {
                let named = place_of(Path::new(OsStr::from_bytes(path)));
                (named.and_then(|(_, number)| U48::new(number)).unwrap_or_default(), false, path.len())
            }
        };
        (Self { path: path[..length].to_vec(), is_folder, files, folder, reader_bytes }, number)
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let folder = |place: &Self| place.folder.as_ref().map(Arc::as_ptr);
        self.is_folder == other.is_folder
            && self.path == other.path
            && folder(self) == folder(other)
            && self.files.is_same(&other.files)
    }

    fn path_of(&self, number: U48) -> Vec<u8> {
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
    place: Arc<Place>,
    number: U48,
    /// Identity that outlives the process and the place of the file, in bytes because a `u128` would take 8 more for its alignment.
    stored_id: [u8; 16],
    /// Where in the file the first unit begins.
    units_at: U48,
    /// What goes into the checksums of its units.
    identity: u32,
}

/// A number below 2^48: what a file's number and a place in a file can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct U48([u8; 6]);

impl U48 {
    pub(crate) fn new(number: u64) -> Option<Self> {
        let [bytes @ .., 0, 0] = number.to_le_bytes() else { return None };
        Some(Self(bytes))
    }

    fn get(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }
}

/// Bytes of a table's file as the allocator takes them.
const FILE_BYTES: usize = {
    const COUNTS_OF_ARC: usize = 2 * size_of::<usize>();
    allocated_bytes(COUNTS_OF_ARC + size_of::<TableFile>())
};
const _: () = assert!(FILE_BYTES == 64);

impl TableFile {
    /// `units_at`: where in the file the first unit begins. `identity`: what goes into the units' checksums.
    pub(crate) fn new(place: Arc<Place>, number: U48, stored_id: u128, units_at: U48, identity: u32) -> Self {
        Self { place, number, stored_id: stored_id.to_ne_bytes(), units_at, identity }
    }

    /// In the file's name; 0 for a name without one.
    pub(crate) fn number(&self) -> u64 {
        self.number.get()
    }

    /// Identity that outlives the process and the place of the file.
    pub(crate) fn stored_id(&self) -> u128 {
        u128::from_ne_bytes(self.stored_id)
    }

    /// What a reader of the table takes.
    pub(crate) fn reader_bytes(&self) -> usize {
        self.place.reader_bytes
    }

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

    /// From the beginning of the first unit.
    fn layout(&self, shapes: &[GroupShape]) -> Result<UnitLayout, UnitReadError> {
        // The directory that they are from was parsed.
        UnitLayout::of(0, self.identity, shapes.iter().copied())
            .ok_or_else(|| UnitReadError::Corrupt("no block has such segments".into()))
    }

    fn read(&self, span: Range<u64>) -> Result<Vec<u8>, UnitReadError> {
        let size = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|error| UnitReadError::Io(io::Error::other(error)))?;
        bytes.resize(size, 0);
        let offset = self.units_at.get() + span.start;
        match self.place.files.read(&self.place.path_of(self.number), offset, &mut bytes) {
            true => Ok(bytes),
            // Of a table whose reader was closed before the file was deleted.
            false if !self.exists() => Err(UnitReadError::Gone),
            false => Err(UnitReadError::Io(io::Error::other("RocksDB's file system failed"))),
        }
    }
}

impl UnitSource for TableFile {
    fn host_bytes(&self) -> usize {
        FILE_BYTES + TableFiles::TABLE_BYTES
    }

    fn read_unit(&self, segment: u32, unit: u8, shapes: &[GroupShape]) -> Result<Vec<u8>, UnitReadError> {
        let layout = self.layout(shapes)?;
        let bytes = self.read(layout.unit_span(segment, unit))?;
        layout.decode_unit(segment, unit, &bytes).map(<[u8]>::to_vec).map_err(corrupt)
    }

    fn read_row(
        &self,
        unit: u8,
        shapes: &[GroupShape],
        visit: &mut dyn FnMut(u32, Result<&[u8], UnitReadError>),
    ) -> Result<(), UnitReadError> {
        let layout = self.layout(shapes)?;
        let bytes = self.read(layout.row_span(unit))?;
        for (segment, unit) in layout.decode_row(unit, &bytes) {
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
            ("/db/281474976710655.sst", Some(((1 << 48) - 1, 3))),
            ("/db/281474976710656.sst", None),
        ] {
            let split = number_and_folder(path.as_bytes());
            assert_eq!(split.map(|(number, slash)| (number.get(), slash)), expected, "{path}");
            if let Some((number, slash)) = split {
                assert_eq!(format!("{}/{}", &path[..slash], name_of(number)), path);
            }
        }
    }
}
