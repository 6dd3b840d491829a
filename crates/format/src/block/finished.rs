//! What is to be stored of a table whose keys are all known.

use std::collections::TryReserveError;

/// A finished block in pieces, one after the other: units over keys, over prefixes, or both. Empty: the table has no block.
#[derive(Default)]
pub struct FinishedBlock(pub(super) Vec<Vec<u8>>);

impl FinishedBlock {
    pub(super) fn total_bytes(&self) -> u64 {
        self.0.iter().map(|piece| piece.len() as u64).sum()
    }

    /// The block in one piece. Pieces are freed as they are copied, so that memory holds the block once. Errors if there is no memory.
    pub fn into_bytes(self) -> Result<Vec<u8>, TryReserveError> {
        let mut block = Vec::new();
        block.try_reserve_exact(self.total_bytes() as usize)?;
        self.0.into_iter().for_each(|piece| block.extend_from_slice(&piece));
        Ok(block)
    }
}
