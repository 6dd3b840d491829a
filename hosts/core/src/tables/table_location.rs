//! Where a table's filter units are on disk, and how the manager's threads read them.
//!
//! There is one [`TableFile`] for each known table, so it is small; the manager keeps it with the table. Tables of a folder share a
//! [`TableLocation`]. The sizes of units follow from the shapes that the manager keeps.

use std::{
    any::Any,
    fs, io,
    ops::Range,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use springbloom_format::{FormatError, UnitLayout};
use springbloom_index::PackedIndex;
use springbloom_manager::{Place, TableId, TableUnits, UnitReadError, UnitSource, UnitVisitor};
use xxhash_rust::xxh3::Xxh3;

use super::{databases::Database, files_by_slot::FilesBySlot};
use crate::{engine::Engine, warm_start::folder::Folder};

/// Where tables are and how they are opened.
#[derive(Debug)]
pub(crate) struct TableLocation {
    /// The folder, in which files have the names that the engine gives tables.
    pub(super) path: PathBuf,
    engine: &'static Engine,
    pub(super) database: Arc<Database>,
    /// The warm start of the folder, if there is one.
    pub(super) folder: Option<Arc<Folder>>,
    /// Where its files lie, once it was looked up.
    device: OnceLock<u64>,
    /// Those of all locations.
    files_by_slot: Arc<FilesBySlot>,
    /// Whether the folder had a file that every database has, once a table was seen there.
    had_landmark: OnceLock<bool>,
}

/// The numbers that a [`Place`] takes.
const DEVICES: u64 = u64::MAX >> 1;

impl TableLocation {
    /// The tables of a database in a folder, which may have warm starts.
    pub(super) fn new(
        engine: &'static Engine,
        database: Arc<Database>,
        path: &Path,
        folder: Option<Arc<Folder>>,
        files_by_slot: Arc<FilesBySlot>,
    ) -> Self {
        let (device, had_landmark) = Default::default();
        Self { path: path.to_owned(), engine, database, folder, device, files_by_slot, had_landmark }
    }

    /// The location behind a source of the manager.
    pub(crate) fn of_source(source: &Arc<dyn UnitSource>) -> Option<&Self> {
        let source: &dyn Any = &**source;
        source.downcast_ref()
    }

    /// Looks up where its files lie, once. Accesses the file system.
    pub(crate) fn locate(&self) {
        let device = self.device.get_or_init(|| {
            // Files of another file system have no such path.
            let told = fs::metadata(&self.path).map(|file| file.dev());
            told.unwrap_or_else(|_| self.database.files.file_system) & DEVICES
        });
        self.database.device.get_or_init(|| *device);
    }

    fn path_of(&self, file: &TableFile) -> PathBuf {
        self.path.join(self.engine.name_of(file.number))
    }

    /// Whether the file exists, or may: where the database's own file was and is not, the whole volume is gone, and may come back. `false`
    /// after the database is closed. Accesses the file system.
    pub(crate) fn has(&self, file: &TableFile) -> bool {
        let files = &self.database.files;
        let has_landmark = || files.exists(&self.path.join(self.engine.database_file.text()));
        if files.exists(&self.path_of(file)) {
            self.had_landmark.get_or_init(has_landmark);
            return true;
        }
        self.had_landmark.get() == Some(&true) && !has_landmark() && files.is_open()
    }

    /// Whether the file is the one at `path`.
    pub(crate) fn is_at(&self, file: &TableFile, path: &Path) -> bool {
        self.engine.folder_and_number(path) == Some((&self.path, file.number))
    }

    /// Identity of a file within its database, from the [one that survives restarts](crate::identity). Another database that has the
    /// file open too has a state of its own.
    pub(crate) fn id_of(&self, file: &TableFile, stored_id: u64) -> TableId {
        TableId(stored_id ^ self.mark(file))
    }

    /// The other way round.
    pub(crate) fn stored_id_of(&self, file: &TableFile, TableId(id): TableId) -> u64 {
        id ^ self.mark(file)
    }

    /// What the file's place has to do with its identity.
    fn mark(&self, file: &TableFile) -> u64 {
        let mut hash = Xxh3::new();
        [self.database.number, file.number].iter().for_each(|number| hash.update(&number.to_le_bytes()));
        hash.update(self.path.as_os_str().as_bytes());
        hash.digest()
    }

    /// Reads bytes of a table's file. `verify`: the last read of them was corrupt.
    fn read(
        &self,
        slot: u32,
        file: &TableFile,
        span: Range<u64>,
        verify: bool,
    ) -> Result<Vec<u8>, UnitReadError> {
        let size = usize::try_from(span.end - span.start).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).map_err(|error| UnitReadError::Io(io::Error::other(error)))?;
        bytes.resize(size, 0);
        let offset = file.units_at + span.start;
        let files = &self.database.files;
        let is_read = files.enter(|| {
            // Its share ends in here: it may be the last one, and close the file.
            self.files_by_slot.of(slot).is_some_and(|opened| opened.read(offset, verify, &mut bytes))
                // Also where an open file fails: after a network folder was mounted again, only its name leads to it.
                || files.read(&self.path_of(file), offset, verify, &mut bytes)
        });
        match is_read.unwrap_or(false) {
            true => Ok(bytes),
            // The file was deleted after the table's reader was closed, or the database was closed.
            false if !self.has(file) => Err(UnitReadError::Gone),
            false => Err(UnitReadError::Io(io::Error::other("the engine's file system failed"))),
        }
    }
}

/// One table file: which it is, and where its units lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TableFile {
    /// In the file's name.
    pub(super) number: u64,
    /// Where in the file the first unit begins.
    units_at: u64,
    /// Identity in the checksums of its units.
    identity: u32,
}

/// Of a number in a locator: enough for numbers of files and offsets.
const NUMBER_BYTES: usize = 6;

impl TableFile {
    /// `units_at`: where in the file the first unit begins. `identity`: what goes into the units' checksums. `None` for numbers that are
    /// too large.
    pub(crate) fn new(number: u64, units_at: u64, identity: u32) -> Option<Self> {
        let fits = (number | units_at) >> (8 * NUMBER_BYTES) == 0;
        fits.then_some(Self { number, units_at, identity })
    }

    /// As the manager keeps it with the table.
    pub(crate) fn to_locator(self) -> Vec<u8> {
        let [number, units_at] = [self.number, self.units_at].map(u64::to_le_bytes);
        [&number[..NUMBER_BYTES], &units_at[..NUMBER_BYTES], &self.identity.to_ne_bytes()].concat()
    }

    /// `None` for what [`to_locator`](Self::to_locator) did not give.
    pub(crate) fn of_locator(locator: &[u8]) -> Option<Self> {
        let (&number, rest) = locator.split_first_chunk()?;
        let (&units_at, identity) = rest.split_first_chunk()?;
        let [number, units_at] = [number, units_at]
            .map(|[a, b, c, d, e, f]: [u8; 6]| u64::from_le_bytes([a, b, c, d, e, f, 0, 0]));
        Some(Self { number, units_at, identity: u32::from_ne_bytes(identity.try_into().ok()?) })
    }
}

/// The file of a table, and the layout of its units from the beginning of the first one.
fn file_and_layout(table: TableUnits<'_>) -> Result<(TableFile, UnitLayout), UnitReadError> {
    let located = TableFile::of_locator(table.locator)
        .and_then(|file| Some((file, UnitLayout::of(0, file.identity, table.shapes.iter().copied())?)));
    // The directory that the shapes are from was parsed.
    located.ok_or_else(|| UnitReadError::Corrupt("no block has such segments".into()))
}

impl UnitSource for TableLocation {
    fn place(&self) -> Option<Place> {
        let of_database = self.database.place();
        Some(Place { device: self.device.get().copied().unwrap_or(of_database.device), ..of_database })
    }

    fn read_unit(&self, table: TableUnits<'_>, segment: u32, unit: u8) -> Result<Vec<u8>, UnitReadError> {
        let (file, layout) = file_and_layout(table)?;
        let span = layout.unit_span(segment, unit);
        let bytes = self.read(table.slot, &file, span.clone(), false)?;
        if let Ok(decoded) = layout.decode_unit(segment, unit, &bytes) {
            return Ok(decoded.to_vec());
        }
        // Where that is not possible, the first read counts.
        let bytes = self.read(table.slot, &file, span, true).unwrap_or(bytes);
        layout.decode_unit(segment, unit, &bytes).map(<[u8]>::to_vec).map_err(corrupt)
    }

    /// By a reader that has the file open.
    fn read_index(&self, slot: u32) -> Result<PackedIndex, UnitReadError> {
        let read = self.database.files.enter(|| Some(self.files_by_slot.of(slot)?.read_index()));
        match read.flatten() {
            Some(read) => read.ok_or_else(|| UnitReadError::Io(io::Error::other("the index cannot be read"))),
            // The reader, or the database, was closed.
            None => Err(UnitReadError::Gone),
        }
    }

    fn read_rows(
        &self,
        table: TableUnits<'_>,
        units: Range<u8>,
        visit: UnitVisitor<'_>,
    ) -> Result<(), UnitReadError> {
        let (file, layout) = file_and_layout(table)?;
        let (Some(last), first) = (units.clone().last(), units.start) else { return Ok(()) };
        let rows = layout.row_span(first).start..layout.row_span(last).end;
        let bytes = self.read(table.slot, &file, rows, false)?;
        for (unit, row) in units.zip(bytes.chunks_exact(layout.row_bytes() as usize)) {
            let decoded: Vec<_> = layout.decode_row(unit, row).collect();
            let is_damaged = decoded.iter().any(|(_, decoded)| decoded.is_err());
            // Where the file system cannot reconstruct, the first read counts.
            let read_again = || self.read(table.slot, &file, layout.row_span(unit), true).ok();
            let again = if is_damaged { read_again() } else { None };
            let mut again = again.iter().flat_map(|row| layout.decode_row(unit, row));
            for (segment, decoded) in decoded {
                let other = again.next();
                let decoded = decoded.or_else(|error| other.map_or(Err(error), |(_, decoded)| decoded));
                visit(segment, unit, decoded.map_err(corrupt));
            }
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
    fn a_locator_tells_all_of_a_file() {
        let file = TableFile::new(12, (1 << 48) - 1, 7).expect("the numbers are below 2^48");
        let locator = file.to_locator();
        assert_eq!((TableFile::of_locator(&locator), locator.len()), (Some(file), 16));
        assert_eq!(TableFile::of_locator(&locator[1..]), None);
        assert_eq!(TableFile::of_locator(&[locator, vec![0]].concat()), None);
        assert_eq!((TableFile::new(1 << 48, 0, 7), TableFile::new(0, 1 << 48, 7)), (None, None));
    }
}
