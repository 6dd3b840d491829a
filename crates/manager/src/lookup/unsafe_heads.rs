//! The lengths that the heads of thin allocations tell.

#![allow(unsafe_code)]

use super::group_cell::{GroupCell, ResidentHead};
use super::table_index::TableIndex;
use super::table_shared::TableHead;
use super::unsafe_thin_arc::{Count, Head, Lengths};

// SAFETY: a head's words are computed from fields that nothing changes.
unsafe impl Head for ResidentHead {
    type Item = u64;
    type Further = ();

    fn count(&self) -> &Count {
        &self.count
    }

    fn lengths(&self) -> Lengths {
        Lengths { items: self.words(), ..Lengths::default() }
    }
}

// SAFETY: fields that nothing changes.
unsafe impl Head for TableHead {
    type Item = GroupCell;
    type Further = TableIndex;

    fn count(&self) -> &Count {
        &self.count
    }

    fn lengths(&self) -> Lengths {
        Lengths { items: self.segments as usize, further: self.has_index.into(), bytes: self.bytes() }
    }
}
