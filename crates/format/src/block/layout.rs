//! Positions and checks of the units of a block. A loader needs nothing else of a block.

use std::ops::Range;

use springbloom_filter::GroupShape;

use crate::FormatError;
use crate::checksum::{CHECKSUM_BYTES, Covers, verify};

/// Positions of the units of a block, and their checks. 8 bytes of memory per segment.
///
/// All rows (one unit of every segment) have the same length, because all units of a segment have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitLayout {
    /// End of each segment's unit within a row, checksums included.
    ends: Box<[u64]>,
    /// Offset of row 0 in the block.
    units_at: u64,
    /// Identity in the block's header.
    identity: u32,
    unit_count: u8,
}

impl UnitLayout {
    /// The layout of a block whose units begin at `units_at`, from the shapes of its segments, which were [parsed](crate::Directory::parse)
    /// with the block. `None` if its length does not fit 64 bits.
    pub fn of(units_at: u64, identity: u32, shapes: impl Iterator<Item = GroupShape>) -> Option<Self> {
        let (mut end, mut unit_count) = (0u64, 0);
        let ends: Option<Box<[u64]>> = shapes
            .map(|shape| {
                unit_count = shape.unit_count(); // the same for all
                end = end.checked_add(shape.unit_bytes() as u64 + CHECKSUM_BYTES as u64)?;
                Some(end)
            })
            .collect();
        let layout = Self { ends: ends?, units_at, identity, unit_count };
        layout.row_bytes().checked_mul(unit_count.into())?.checked_add(units_at)?;
        Some(layout)
    }

    /// Segments of the block.
    pub fn segment_count(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Units of every segment.
    pub fn unit_count(&self) -> u8 {
        self.unit_count
    }

    /// Bytes of one unit of all segments, checksums included.
    pub fn row_bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Offset of the first unit in the block.
    pub fn units_at(&self) -> u64 {
        self.units_at
    }

    /// Identity of the block, which the checksums of its units cover.
    pub fn identity(&self) -> u32 {
        self.identity
    }

    /// Bytes of the block, without the one of prefixes that may follow.
    pub fn block_bytes(&self) -> u64 {
        self.units_at + self.row_bytes() * u64::from(self.unit_count)
    }

    /// Range of a unit and its checksum in the block. Panics if there is no such segment or unit.
    pub fn unit_span(&self, segment: u32, unit: u8) -> Range<u64> {
        let row = self.row_span(unit);
        let within = self.span_in_row(segment);
        row.start + within.start..row.start + within.end
    }

    /// Range of unit `unit` of all segments in the block. Panics if there is no such unit.
    pub fn row_span(&self, unit: u8) -> Range<u64> {
        assert!(unit < self.unit_count, "unit {unit} of {}", self.unit_count);
        let start = self.units_at + self.row_bytes() * u64::from(unit);
        start..start + self.row_bytes()
    }

    /// Verifies the checksum of the bytes of [`unit_span`](Self::unit_span) and returns the unit. Panics if there is no such segment.
    pub fn decode_unit<'b>(&self, segment: u32, unit: u8, bytes: &'b [u8]) -> Result<&'b [u8], FormatError> {
        let span = self.span_in_row(segment);
        let (got, expected) = (bytes.len() as u64, span.end - span.start);
        if got < expected {
            return Err(FormatError::Truncated { part: "unit", got, expected });
        }
        if got > expected {
            return Err(FormatError::Inconsistent { part: "unit", field: "length", got, expected });
        }
        let Some((unit_bytes, stored)) = bytes.split_last_chunk::<CHECKSUM_BYTES>() else {
            return Err(FormatError::Truncated { part: "unit", got, expected });
        };
        let covers = Covers::Unit { identity: self.identity, segment, unit };
        verify(covers, "unit", unit_bytes, u32::from_le_bytes(*stored))?;
        Ok(unit_bytes)
    }

    /// The units in the bytes of [`row_span`](Self::row_span), each with a check of its own. Damage to one unit, or a short row, leaves the
    /// others usable.
    pub fn decode_row<'b>(
        &self,
        unit: u8,
        bytes: &'b [u8],
    ) -> impl Iterator<Item = (u32, Result<&'b [u8], FormatError>)> {
        (0..self.segment_count()).map(move |segment| {
            let span = self.span_in_row(segment);
            let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
            (segment, self.decode_unit(segment, unit, &bytes[at(span.start)..at(span.end)]))
        })
    }

    fn span_in_row(&self, segment: u32) -> Range<u64> {
        let index = segment as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start..self.ends[index]
    }
}
