//! The block of a table whose keys are all known.

use std::io::{self, Write};

use super::rows::Rows;

/// A finished block, whose units may be in a [`SpillFile`](super::SpillFile).
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

    /// Bytes of the block, wherever they are.
    pub(super) fn total_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.head.len() as u64 + part.rows.total_bytes()).sum()
    }

    /// Whether memory does not hold all of it.
    pub fn is_spilled(&self) -> bool {
        self.parts.iter().any(|part| part.rows.is_spilled())
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.head.capacity() + part.rows.memory_bytes()).sum()
    }

    /// Writes the block. Errors: the spill file cannot be read, or `out` cannot be written.
    pub fn write_to(&mut self, out: &mut dyn Write) -> io::Result<()> {
        for Part { head, rows } in &mut self.parts {
            out.write_all(head)?;
            (0..rows.unit_count()).try_for_each(|unit| rows.write_row(unit, out))?;
        }
        Ok(())
    }

    /// The block in memory, which takes it once: rows are freed as they are copied. Errors: the spill file cannot be read, or there is no
    /// memory.
    pub fn into_bytes(self) -> io::Result<Vec<u8>> {
        let mut block = Vec::new();
        block.try_reserve_exact(self.total_bytes() as usize)?;
        for Part { head, mut rows } in self.parts {
            block.extend_from_slice(&head);
            for unit in 0..rows.unit_count() {
                rows.write_row(unit, &mut block)?;
                rows.forget_row(unit);
            }
        }
        Ok(block)
    }
}
