//! Inspection of a table file: its filter units, and whether they are sound.

mod key;

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use springbloom_format::{Directory, FormatError};

use crate::{
    Error,
    ffi::{self, TableInfo},
};

pub use ffi::{IndexOptions, IndexSize};
pub use key::{Entry, KeyReport, Probe, Verdict, key};

/// One table file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableReport {
    /// Size of the file.
    pub file_bytes: u64,
    /// Entries, versions and deletions included.
    pub entries: u64,
    /// Bytes of its data blocks.
    pub data_bytes: u64,
    /// Bytes of its filter, of whatever kind.
    pub filter_bytes: u64,
    /// Bytes of its index.
    pub index_bytes: u64,
    /// RocksDB's name of the filter's kind; empty without a filter.
    pub filter_policy: String,
    /// Its filter units; `None` for a table without them, an error for a damaged or newer block.
    pub units: Option<Result<UnitsReport, FormatError>>,
}

/// What a table file says of itself. Its filter is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSummary {
    /// Size of the file.
    pub file_bytes: u64,
    /// Entries, versions and deletions included.
    pub entries: u64,
    /// Bytes of its filter, of whatever kind.
    pub filter_bytes: u64,
    /// Bytes of its index.
    pub index_bytes: u64,
    /// Bytes of keys and values.
    pub raw_bytes: u64,
    /// Data blocks.
    pub data_blocks: u64,
    /// RocksDB's name of the filter's kind; empty without a filter.
    pub filter_policy: String,
    /// Whether it has filter units.
    pub has_units: bool,
}

/// The filter units of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitsReport {
    /// Units of each segment.
    pub unit_count: u8,
    /// The segments in key order.
    pub segments: Vec<SegmentReport>,
}

/// The filter units of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    /// Its fence: the first user key, or a prefix of it that is greater than all keys before.
    pub first_key: Vec<u8>,
    /// Distinct keys.
    pub key_count: u32,
    /// Key and value bytes before compression.
    pub data_bytes: u64,
    /// Bytes of each unit.
    pub unit_bytes: usize,
    /// Units whose checksum does not fit.
    pub corrupt_units: Vec<u8>,
}

impl UnitsReport {
    /// Units over all segments that are damaged.
    pub fn corrupt_unit_count(&self) -> usize {
        self.segments.iter().map(|segment| segment.corrupt_units.len()).sum()
    }
}

/// Why a table file cannot be used, from what RocksDB says.
fn failed(path: &Path) -> impl Fn(String) -> Error {
    move |mut message| {
        if message.contains("Bad table magic number") {
            message +=
                "; it is damaged, or not of the block-based table format, the only one that is read here";
        }
        Error::Table { path: path.to_owned(), message }
    }
}

/// Reads what a table file says of itself, without its database.
pub fn summary(path: &Path) -> Result<TableSummary, Error> {
    let summary = ffi::inspect_table(path, |table| TableSummary {
        file_bytes: table.file_bytes,
        entries: table.entries,
        filter_bytes: table.filter_bytes,
        index_bytes: table.index_bytes,
        raw_bytes: table.raw_bytes,
        data_blocks: table.data_blocks,
        filter_policy: String::from_utf8_lossy(table.filter_policy.get()).into_owned(),
        has_units: table.block_offset > 0,
    });
    summary.map_err(failed(path))
}

/// Rewrites the first `data_bytes` of a table in memory with each of the options, and tells what the indexes take. Reads as much of the
/// table.
///
/// Errors on a table that cannot be read, or has keys that are not in the order of bytes.
pub fn measure_indexes(
    path: &Path,
    data_bytes: u64,
    indexes: &[IndexOptions],
) -> Result<Vec<IndexSize>, Error> {
    ffi::measure_indexes(path, data_bytes, indexes).map_err(failed(path))
}

/// Reads a table file on its own, without its database, and checks every unit of it, one at a time.
pub fn table(path: &Path) -> Result<TableReport, Error> {
    let report = ffi::inspect_table(path, |table| {
        Ok(TableReport {
            file_bytes: table.file_bytes,
            entries: table.entries,
            data_bytes: table.data_bytes,
            filter_bytes: table.filter_bytes,
            index_bytes: table.index_bytes,
            filter_policy: String::from_utf8_lossy(table.filter_policy.get()).into_owned(),
            units: (table.block_offset > 0).then(|| units_of(path, table)).transpose()?,
        })
    });
    report.map_err(failed(path))?
}

/// The filter units of a table file.
struct Units<'a> {
    table: &'a TableInfo<'a>,
    file: File,
    directory: Directory,
}

impl<'a> Units<'a> {
    /// Of a table that has them; the inner error says why they cannot be used.
    fn open(path: &Path, table: &'a TableInfo<'a>) -> io::Result<Result<Self, FormatError>> {
        let directory = match Directory::parse(table.head.get()) {
            Ok(directory) => directory,
            Err(error) => return Ok(Err(error)),
        };
        Ok(Ok(Self { table, file: File::open(path)?, directory }))
    }

    /// The bytes of a unit; `None` if it is damaged.
    fn read(&self, segment: u32, unit: u8) -> io::Result<Option<Vec<u8>>> {
        let span = self.directory.unit_span(segment, unit);
        if span.end > self.table.block_bytes {
            return Ok(None);
        }
        let mut bytes = vec![0; (span.end - span.start) as usize];
        self.file.read_exact_at(&mut bytes, self.table.block_offset + span.start)?;
        Ok(self.directory.decode_unit(segment, unit, &bytes).ok().map(<[u8]>::to_vec))
    }
}

/// The units of a table that has them.
fn units_of(path: &Path, table: &TableInfo<'_>) -> Result<Result<UnitsReport, FormatError>, Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let units = match Units::open(path, table).map_err(failed)? {
        Ok(units) => units,
        Err(error) => return Ok(Err(error)),
    };
    let directory = &units.directory;
    let segments = (0..directory.segment_count()).map(|segment| {
        let mut corrupt_units = Vec::new();
        for unit in 0..directory.unit_count() {
            if units.read(segment, unit)?.is_none() {
                corrupt_units.push(unit);
            }
        }
        Ok(SegmentReport {
            first_key: directory.fence(segment).to_vec(),
            key_count: directory.shape(segment).key_count(),
            data_bytes: directory.data_bytes(segment),
            unit_bytes: directory.shape(segment).unit_bytes(),
            corrupt_units,
        })
    });
    let segments = segments.collect::<io::Result<_>>().map_err(failed)?;
    Ok(Ok(UnitsReport { unit_count: directory.unit_count(), segments }))
}
