//! The block of a table whose keys are all known.

use std::io::{self, Write};

use super::rows::Rows;

/// A finished block, whose units may be in a [`SpillFile`](super::SpillFile).
pub struct FinishedBlock {
    /// Header and directory. Empty: the table has no block.
    head: Vec<u8>,
    rows: Rows,
}

impl FinishedBlock {
    pub(super) fn new(head: Vec<u8>, rows: Rows) -> Self {
        Self { head, rows }
    }

    /// That of a table without filters.
    pub(super) fn empty() -> Self {
        Self::new(Vec::new(), Rows::new(0))
    }

    /// Whether memory does not hold all of it.
    pub fn is_spilled(&self) -> bool {
        self.rows.is_spilled()
    }

    /// Bytes of memory that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.head.capacity() + self.rows.memory_bytes()
    }

    /// Writes the block. Errors: the spill file cannot be read, or `out` cannot be written.
    pub fn write_to(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.head)?;
        (0..self.rows.unit_count()).try_for_each(|unit| self.rows.write_row(unit, out))
    }

    /// The block in memory, which takes it once: rows are freed as they are copied. Errors: the spill file cannot be read, or there is no
    /// memory.
    pub fn into_bytes(mut self) -> io::Result<Vec<u8>> {
        let mut block = Vec::new();
        block.try_reserve_exact(self.head.len() + self.rows.total_bytes() as usize)?;
        block.extend_from_slice(&self.head);
        for unit in 0..self.rows.unit_count() {
            self.rows.write_row(unit, &mut block)?;
            self.rows.forget_row(unit);
        }
        Ok(block)
    }
}
