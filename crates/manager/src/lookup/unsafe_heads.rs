//! The lengths that the heads of thin allocations tell.

#![allow(unsafe_code)]

use super::group_cell::{GroupCell, ResidentHead};
use super::table_shared::TableHead;
use super::unsafe_thin_arc::Head;

// SAFETY: a head's words are computed from fields that nothing changes.
unsafe impl Head for ResidentHead {
    type Item = u64;

    fn lengths(&self) -> (usize, usize) {
        (self.words(), 0)
    }
}

// SAFETY: plain fields that nothing changes.
unsafe impl Head for TableHead {
    type Item = GroupCell;

    fn lengths(&self) -> (usize, usize) {
        (self.segments as usize, self.bytes())
    }
}
