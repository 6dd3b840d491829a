//! The block of a table whose keys are all known.

use std::collections::TryReserveError;

use super::rows::Rows;

/// A finished block, in pieces.
pub struct FinishedBlock {
    /// One after the other: units over keys, over prefixes, or both. Empty: the table has no block.
    parts: Vec<Part>,
}

struct Part {
    /// Header and directory.
    head: Vec<u8>,
    rows: Rows,
}

impl FinishedBlock {
    pub(super) fn new(head: Vec<u8>, rows: Rows) -> Self {
        Self { parts: vec![Part { head, rows }] }
    }

    /// That of a table without filters.
    pub(super) fn empty() -> Self {
        Self { parts: Vec::new() }
    }

    /// Both, one after the other.
    pub(super) fn before(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.head.len() as u64 + part.rows.total_bytes()).sum()
    }

    /// The block in one piece. Rows are freed as they are copied, so that memory holds the block once. Errors if there is no memory.
    pub fn into_bytes(self) -> Result<Vec<u8>, TryReserveError> {
        let mut block = Vec::new();
        block.try_reserve_exact(self.total_bytes() as usize)?;
        for Part { head, rows } in self.parts {
            block.extend_from_slice(&head);
            rows.into_rows().for_each(|row| block.extend_from_slice(&row));
        }
        Ok(block)
    }
}
