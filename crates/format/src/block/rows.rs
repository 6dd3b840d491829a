//! The rows of a table that is being written.

use crate::checksum::{CHECKSUM_BYTES, Covers, checksum};

/// The stored form of the units of all closed segments.
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

    pub(super) fn total_bytes(&self) -> u64 {
        self.0.iter().map(|row| row.len() as u64).sum()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(Vec::capacity).sum()
    }

    pub(super) fn unit_count(&self) -> u8 {
        self.0.len() as u8
    }

    /// Row by row, in order.
    pub(super) fn into_rows(self) -> impl Iterator<Item = Vec<u8>> {
        self.0.into_iter()
    }
}
