//! The rows of a table that is being written.

use crate::checksum::{CHECKSUM_BYTES, Covers, checksum};

/// The stored form of the units of all closed segments, a row for each unit.
pub(super) struct Rows(Vec<Vec<u8>>);

impl Rows {
    pub(super) fn new(unit_count: u8) -> Self {
        Self(vec![Vec::new(); usize::from(unit_count)])
    }

    /// Adds the units of a segment.
    pub(super) fn add(&mut self, units: &[Vec<u8>], identity: u32, segment: u32) {
        for (row, (unit, bytes)) in self.0.iter_mut().zip((0..).zip(units)) {
            row.reserve(bytes.len() + CHECKSUM_BYTES);
            row.extend_from_slice(bytes);
            let covers = Covers::Unit { identity, segment, unit };
            row.extend_from_slice(&checksum(covers, bytes).to_le_bytes());
        }
    }

    /// Bytes of all rows.
    pub(super) fn total_bytes(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(Vec::capacity).sum()
    }

    pub(super) fn unit_count(&self) -> u8 {
        self.0.len() as u8
    }

    /// Adds all rows to a block. Each is freed as soon as it is copied.
    pub(super) fn move_to(self, block: &mut Vec<u8>) {
        self.0.into_iter().for_each(|row| block.extend_from_slice(&row));
    }
}
