//! What is to be stored of a table whose keys are all known, or so far.

use std::{collections::TryReserveError, iter};

use crate::checksum::{CHECKSUM_BYTES, Covers, checksum};

/// A finished block in pieces, one after the other: units over keys, over prefixes, or both. Empty: the table has no block.
pub struct FinishedBlock(Vec<Vec<u8>>);

impl FinishedBlock {
    /// Header and directory, and the units.
    pub(super) fn new(head: Vec<u8>, rows: Rows) -> Self {
        Self(iter::once(head).chain(rows.0).collect())
    }

    /// That of a table without filters.
    pub(super) fn empty() -> Self {
        Self(Vec::new())
    }

    /// Both, one after the other.
    pub(super) fn before(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn total_bytes(&self) -> u64 {
        total_bytes(&self.0)
    }

    /// The block in one piece. Pieces are freed as they are copied, so that memory holds the block once. Errors if there is no memory.
    pub fn into_bytes(self) -> Result<Vec<u8>, TryReserveError> {
        let mut block = Vec::new();
        block.try_reserve_exact(self.total_bytes() as usize)?;
        self.0.into_iter().for_each(|piece| block.extend_from_slice(&piece));
        Ok(block)
    }
}

/// The stored form of the units of all closed segments, row by row.
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
        total_bytes(&self.0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.0.iter().map(Vec::capacity).sum()
    }

    pub(super) fn unit_count(&self) -> u8 {
        self.0.len() as u8
    }
}

fn total_bytes(pieces: &[Vec<u8>]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}
