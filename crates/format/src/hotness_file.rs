//! The hotness file: usage of a database's tables, kept from one run to the next. Layout: `docs/format.md`.
//!
//! The file is a hint and never affects answers. Without it, the start is cold.

use crate::FormatError;
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::checksum::{CHECKSUM_BYTES, Covers, checksum, verify};

/// First bytes of every hotness file.
pub const HOTNESS_MAGIC: [u8; 8] = *b"SpgHotns";

/// Version that this crate writes, and the newest that it reads.
pub const HOTNESS_VERSION: u16 = 2;

/// Bytes of the header.
pub const HOTNESS_HEADER_BYTES: usize = 70;

/// Bytes of the header of version 1, which ends after the visits per lookup.
const HEADER_BYTES_OF_1: usize = 48;
const TABLE_BYTES: usize = 28;
/// In the header: after the version, after the visits per lookup, and at its end.
const UNUSED_BYTES: [usize; 3] = [2, 8, 6];
const SEGMENT_BYTES: usize = 13;

/// The contents of a hotness file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredHotness {
    /// Budget when the file was written, in bytes.
    pub budget_bytes: u64,
    /// Memory for the bookkeeping of these tables, in bytes.
    pub bookkeeping_bytes: u64,
    /// Visits to segments per lookup. 0 if unknown.
    pub visits_per_lookup: f32,
    /// Visits of late, in all tables that shared the budget. 0 if unknown.
    pub late_visits: f32,
    /// Of them, those that wasted a read.
    pub late_wasted_reads: f32,
    /// The tables, in any order.
    pub tables: Vec<StoredTable>,
}

/// The stored state of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredTable {
    /// Identity of the table: a digest that stays the same when its file is copied or moved.
    pub id: u64,
    /// Number in the file's name. Tells apart tables of the same identity, such as a file ingested twice.
    pub file_number: u64,
    /// Segments in key order.
    pub segments: Vec<StoredSegment>,
}

/// The stored state of one segment. Counts are in visits at the time of writing; older visits had faded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoredSegment {
    /// Number of visits.
    pub access_count: f32,
    /// Visits for keys that are not in the segment.
    pub negatives: f32,
    /// Wasted reads among these visits.
    pub wasted_reads: f32,
    /// Resident units.
    pub units: u8,
}

impl StoredHotness {
    /// Encodes the file. Counts that the format cannot hold (negative, infinite, not a number) are written as 0.
    pub fn encode(&self) -> Vec<u8> {
        let segments: usize = self.tables.iter().map(|table| table.segments.len()).sum();
        let body_bytes = self.tables.len() * TABLE_BYTES + segments * SEGMENT_BYTES;
        let mut bytes = Vec::with_capacity(HOTNESS_HEADER_BYTES + body_bytes + CHECKSUM_BYTES);
        bytes.extend(HOTNESS_MAGIC);
        bytes.extend(HOTNESS_VERSION.to_le_bytes());
        bytes.extend([0; UNUSED_BYTES[0]]);
        bytes.extend((self.tables.len() as u32).to_le_bytes());
        bytes.extend((body_bytes as u64).to_le_bytes());
        bytes.extend(self.budget_bytes.to_le_bytes());
        bytes.extend(self.bookkeeping_bytes.to_le_bytes());
        bytes.extend(storable(self.visits_per_lookup).to_le_bytes());
        bytes.extend([0; UNUSED_BYTES[1]]);
        bytes.extend(storable(self.late_visits).to_le_bytes());
        bytes.extend(storable(self.late_wasted_reads).to_le_bytes());
        bytes.extend([0; UNUSED_BYTES[2]]);
        bytes.extend(checksum(Covers::HotnessHeader, &bytes).to_le_bytes());
        for table in &self.tables {
            bytes.extend(u128::from(table.id).to_le_bytes());
            bytes.extend(table.file_number.to_le_bytes());
            bytes.extend((table.segments.len() as u32).to_le_bytes());
            for segment in &table.segments {
                for count in [segment.access_count, segment.negatives, segment.wasted_reads] {
                    bytes.extend(storable(count).to_le_bytes());
                }
                bytes.push(segment.units);
            }
        }
        bytes.extend(checksum(Covers::HotnessBody, &bytes[HOTNESS_HEADER_BYTES..]).to_le_bytes());
        bytes
    }

    /// Decodes a file. Memory is bounded by a small multiple of the length of `bytes`.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let (header, body) = split_header(bytes)?;
        let [table_count, body_bytes] = [u64::from(u32_at(header, 12)), u64_at(header, 16)];
        let got = body.len() as u64;
        let Some((records, stored)) = body.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Err(FormatError::Truncated { part: "hotness", got, expected: body_bytes });
        };
        let expected = body_bytes.saturating_add(CHECKSUM_BYTES as u64);
        if got < expected {
            return Err(FormatError::Truncated { part: "hotness", got, expected });
        }
        if got > expected {
            return Err(inconsistent("body_bytes", got, expected));
        }
        verify(Covers::HotnessBody, "hotness", records, u32::from_le_bytes(*stored))?;
        let tables = decode_tables(records)?;
        if tables.len() as u64 != table_count {
            return Err(inconsistent("table_count", table_count, tables.len() as u64));
        }
        let mut late = Self::default();
        if header.len() == HOTNESS_HEADER_BYTES {
            (late.late_visits, late.late_wasted_reads) = (count(&header[52..56])?, count(&header[56..60])?);
        }
        Ok(Self {
            budget_bytes: u64_at(header, 24),
            bookkeeping_bytes: u64_at(header, 32),
            visits_per_lookup: count(&header[40..44])?,
            tables,
            ..late
        })
    }
}

/// The header, which is shorter in version 1, and what follows it.
fn split_header(bytes: &[u8]) -> Result<(&[u8], &[u8]), FormatError> {
    let truncated = |expected: usize| FormatError::Truncated {
        part: "hotness header",
        got: bytes.len() as u64,
        expected: expected as u64,
    };
    let Some(&magic) = bytes.first_chunk::<8>() else { return Err(truncated(HOTNESS_HEADER_BYTES)) };
    if magic != HOTNESS_MAGIC {
        return Err(FormatError::Foreign { got: magic, expected: HOTNESS_MAGIC });
    }
    if bytes.len() < HEADER_BYTES_OF_1 {
        return Err(truncated(HOTNESS_HEADER_BYTES));
    }
    // Checked before the checksum: a newer version may place its checksum elsewhere.
    let version = u16_at(bytes, 8);
    if version > HOTNESS_VERSION {
        return Err(FormatError::NewerVersion { got: version, newest: HOTNESS_VERSION });
    }
    let length = if version == HOTNESS_VERSION { HOTNESS_HEADER_BYTES } else { HEADER_BYTES_OF_1 };
    let (header, body) = bytes.split_at_checked(length).ok_or_else(|| truncated(length))?;
    let (covered, stored) = header.split_at(length - CHECKSUM_BYTES);
    verify(Covers::HotnessHeader, "hotness header", covered, u32_at(stored, 0))?;
    if version == 0 {
        return Err(inconsistent("version", 0, HOTNESS_VERSION.into()));
    }
    Ok((header, body))
}

fn decode_tables(mut records: &[u8]) -> Result<Vec<StoredTable>, FormatError> {
    let mut tables = Vec::new();
    while !records.is_empty() {
        let Some((table, rest)) = records.split_first_chunk::<TABLE_BYTES>() else {
            return Err(inconsistent("bytes of a table", records.len() as u64, TABLE_BYTES as u64));
        };
        let segment_bytes = u64::from(u32_at(table, 24)) * SEGMENT_BYTES as u64;
        if segment_bytes > rest.len() as u64 {
            return Err(inconsistent("bytes of segments", segment_bytes, rest.len() as u64));
        }
        let (segments, rest) = rest.split_at(segment_bytes as usize);
        let segments = segments.as_chunks::<SEGMENT_BYTES>().0.iter().map(decode_segment);
        tables.push(StoredTable {
            id: u64_at(table, 0),
            file_number: u64_at(table, 16),
            segments: segments.collect::<Result<_, _>>()?,
        });
        records = rest;
    }
    Ok(tables)
}

fn decode_segment(bytes: &[u8; SEGMENT_BYTES]) -> Result<StoredSegment, FormatError> {
    Ok(StoredSegment {
        access_count: count(&bytes[..4])?,
        negatives: count(&bytes[4..8])?,
        wasted_reads: count(&bytes[8..12])?,
        units: bytes[12],
    })
}

fn is_count(value: f32) -> bool {
    value.is_finite() && value >= 0.0
}

fn storable(value: f32) -> f32 {
    if is_count(value) { value } else { 0.0 }
}

/// Reads a count from four bytes.
fn count(bytes: &[u8]) -> Result<f32, FormatError> {
    let bits = u32_at(bytes, 0);
    let value = f32::from_bits(bits);
    if is_count(value) { Ok(value) } else { Err(inconsistent("a count's bits", bits.into(), 0)) }
}

fn inconsistent(field: &'static str, got: u64, expected: u64) -> FormatError {
    FormatError::Inconsistent { part: "hotness", field, got, expected }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_have_no_place_in_the_file_become_zero() {
        let segment =
            StoredSegment { access_count: f32::NAN, negatives: -1.0, wasted_reads: f32::INFINITY, units: 3 };
        let table = StoredTable { id: 1, file_number: 2, segments: vec![segment] };
        let file =
            StoredHotness { visits_per_lookup: f32::NEG_INFINITY, tables: vec![table], ..Default::default() };
        let read = StoredHotness::decode(&file.encode()).unwrap();
        assert_eq!(read.tables[0].segments[0], StoredSegment { units: 3, ..StoredSegment::default() });
        assert_eq!(read.visits_per_lookup, 0.0);
    }
}
