//! Inspection of a table file: its filter units, and whether they are sound.

use std::path::Path;

use springbloom_format::{Directory, FormatError};

use crate::{Error, ffi};

/// One table file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableReport {
    /// Size of the file.
    pub file_bytes: u64,
    /// Entries, versions and deletions included.
    pub entries: u64,
    /// Bytes of its data blocks.
    pub data_bytes: u64,
    /// Bytes of its filter, of whatever kind.
    pub filter_bytes: u64,
    /// RocksDB's name of the filter's kind; empty without a filter.
    pub filter_policy: String,
    /// Its filter units; `None` for a table without them, an error for a damaged or newer block.
    pub units: Option<Result<UnitsReport, FormatError>>,
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

/// Reads a table file on its own, without its database, and checks every unit of it.
pub fn table(path: &Path) -> Result<TableReport, Error> {
    let inspected =
        ffi::inspect_table(path, false).map_err(|message| Error::Table { path: path.to_owned(), message })?;
    let units = inspected.block.map(|block| units_of(&block));
    Ok(TableReport {
        file_bytes: inspected.file_bytes,
        entries: inspected.entries,
        data_bytes: inspected.data_bytes,
        filter_bytes: inspected.filter_bytes,
        filter_policy: inspected.filter_policy,
        units,
    })
}

fn units_of(block: &[u8]) -> Result<UnitsReport, FormatError> {
    let directory = Directory::parse(block)?;
    let segments = (0..directory.segment_count())
        .map(|segment| {
            let corrupt_units = (0..directory.unit_count())
                .filter(|&unit| {
                    let span = directory.unit_span(segment, unit);
                    let bytes = block.get(span.start as usize..span.end as usize).unwrap_or_default();
                    directory.decode_unit(segment, unit, bytes).is_err()
                })
                .collect();
            SegmentReport {
                first_key: directory.fence(segment).to_vec(),
                key_count: directory.shape(segment).key_count(),
                data_bytes: directory.data_bytes(segment),
                unit_bytes: directory.shape(segment).unit_bytes(),
                corrupt_units,
            }
        })
        .collect();
    Ok(UnitsReport { unit_count: directory.unit_count(), segments })
}
