//! The directory: shape, data bytes and first user key (fence) of every segment, and the table's last user key.

use std::ops::{Deref, Range};

use springbloom_filter::{GroupShape, SHAPE_BYTES};

use super::{BlockHeader, Contents, HEADER_BYTES, UnitLayout};
use crate::FormatError;
use crate::bytes::{u32_at, u64_at};
use crate::checksum::{CHECKSUM_BYTES, Covers, checksum, verify};

/// Bytes of a segment's entry: shape, data bytes, end of its fence.
pub(crate) const ENTRY_BYTES: usize = SHAPE_BYTES + 8 + 4;

/// The entry of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentEntry {
    pub(crate) data_bytes: u64,
    pub(crate) shape: GroupShape,
    /// End of this segment's fence in the fence bytes. It begins at the end of the previous one.
    pub(crate) fence_end: u32,
}

/// The parsed directory of a block. Dereferences to its [`UnitLayout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    layout: UnitLayout,
    segments: Box<[SegmentEntry]>,
    fence_bytes: Box<[u8]>,
    last_key: Box<[u8]>,
    contents: Contents,
}

impl Directory {
    /// Reads header and directory from the first [`BlockHeader::head_bytes`] of `bytes`. Later bytes are ignored.
    ///
    /// Memory is bounded by the length of `bytes`: lengths are checked before anything is allocated.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let header = BlockHeader::parse(bytes)?;
        let head = usize::try_from(header.head_bytes()).unwrap_or(usize::MAX);
        let Some(bytes) = bytes.get(HEADER_BYTES..head) else {
            let got = (bytes.len() - HEADER_BYTES) as u64;
            return Err(FormatError::Truncated { part: "directory", got, expected: header.directory_bytes });
        };
        let entries_bytes = u64::from(header.segment_count) * ENTRY_BYTES as u64;
        let least = entries_bytes + CHECKSUM_BYTES as u64;
        let Some((bytes, stored)) = bytes.split_last_chunk().filter(|_| bytes.len() as u64 >= least) else {
            return Err(inconsistent("directory_bytes", bytes.len() as u64, least));
        };
        verify(Covers::Directory, "directory", bytes, u32::from_le_bytes(*stored))?;
        let (entries, keys) = bytes.split_at(entries_bytes as usize);
        let segments = parse_entries(entries, header.unit_count, keys.len() as u64)?;
        let fences_end = segments.last().map_or(0, |segment| segment.fence_end as usize);
        let (fence_bytes, last_key) = keys.split_at(fences_end);
        let shapes = segments.iter().map(|segment| segment.shape);
        let layout = UnitLayout::of(header.head_bytes(), header.identity, shapes);
        let derived_bytes = layout.as_ref().map_or(u64::MAX, UnitLayout::block_bytes);
        let fits = match header.contents {
            Contents::KeysBeforePrefixes => derived_bytes < header.block_bytes,
            _ => derived_bytes == header.block_bytes,
        };
        let Some(layout) = layout.filter(|_| fits) else {
            return Err(inconsistent("bytes of all units", derived_bytes, header.block_bytes));
        };
        let (fence_bytes, last_key) = (fence_bytes.into(), last_key.into());
        Ok(Self { layout, segments, fence_bytes, last_key, contents: header.contents })
    }

    /// Shape of a segment's units. Panics if there is no such segment.
    pub fn shape(&self, segment: u32) -> GroupShape {
        self.segments[segment as usize].shape
    }

    /// First user key of a segment. Panics if there is no such segment.
    pub fn fence(&self, segment: u32) -> &[u8] {
        &self.fence_bytes[self.fence_span(segment as usize)]
    }

    /// Bytes of table data that a segment covers. Panics if there is no such segment.
    pub fn data_bytes(&self, segment: u32) -> u64 {
        self.segments[segment as usize].data_bytes
    }

    /// Last user key of the table.
    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Number of keys of the table.
    pub fn key_count(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.shape.key_count())).sum()
    }

    /// What the units are over. The *keys* of a directory of prefixes are these prefixes, in byte order.
    pub fn contents(&self) -> Contents {
        self.contents
    }

    /// Where in the block the block of prefixes begins, if one follows.
    pub fn prefixes_at(&self) -> Option<u64> {
        (self.contents == Contents::KeysBeforePrefixes).then(|| self.layout.block_bytes())
    }

    fn fence_span(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.segments[index - 1].fence_end };
        start as usize..self.segments[index].fence_end as usize
    }
}

impl Deref for Directory {
    type Target = UnitLayout;

    fn deref(&self) -> &UnitLayout {
        &self.layout
    }
}

fn parse_entries(entries: &[u8], unit_count: u8, key_bytes: u64) -> Result<Box<[SegmentEntry]>, FormatError> {
    let mut fence_start = 0;
    let (entries, _) = entries.as_chunks::<ENTRY_BYTES>();
    let segments: Box<[SegmentEntry]> = entries
        .iter()
        .zip(0u32..)
        .map(|(entry, segment)| {
            let entry = decode_entry(entry).map_err(|source| FormatError::Shape { segment, source })?;
            if entry.shape.unit_count() != unit_count {
                return Err(inconsistent("unit_count", entry.shape.unit_count().into(), unit_count.into()));
            }
            if entry.fence_end < fence_start {
                return Err(inconsistent("fence_end", entry.fence_end.into(), fence_start.into()));
            }
            fence_start = entry.fence_end;
            Ok(entry)
        })
        .collect::<Result<_, _>>()?;
    if u64::from(fence_start) > key_bytes {
        return Err(inconsistent("fence_end", fence_start.into(), key_bytes));
    }
    Ok(segments)
}

fn decode_entry(entry: &[u8; ENTRY_BYTES]) -> Result<SegmentEntry, springbloom_filter::FilterError> {
    Ok(SegmentEntry {
        shape: GroupShape::decode(&entry[..SHAPE_BYTES])?,
        data_bytes: u64_at(entry, SHAPE_BYTES),
        fence_end: u32_at(entry, SHAPE_BYTES + 8),
    })
}

/// The directory's bytes, checksum included.
pub(crate) fn encode(segments: &[SegmentEntry], fence_bytes: &[u8], last_key: &[u8]) -> Vec<u8> {
    let keys_bytes = fence_bytes.len() + last_key.len();
    let mut bytes = Vec::with_capacity(segments.len() * ENTRY_BYTES + keys_bytes + CHECKSUM_BYTES);
    for segment in segments {
        bytes.extend_from_slice(&segment.shape.encode());
        bytes.extend_from_slice(&segment.data_bytes.to_le_bytes());
        bytes.extend_from_slice(&segment.fence_end.to_le_bytes());
    }
    bytes.extend_from_slice(fence_bytes);
    bytes.extend_from_slice(last_key);
    let sum = checksum(Covers::Directory, &bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn inconsistent(field: &'static str, got: u64, expected: u64) -> FormatError {
    FormatError::Inconsistent { part: "directory", field, got, expected }
}
