//! What lookups share with the background thread of a table: its fences and its resident groups, in one allocation.

use crate::fences::{Fences, FencesRef};
use crate::resident::Slot;
use crate::unsafe_thin::Thin;

/// What stands before a table's slots and its packed fences.
#[derive(Clone, Copy)]
pub(crate) struct TableHead {
    /// The registry's slot of the table.
    pub slot: u32,
    pub segments: u32,
    pub fence_bytes: u32,
}

/// A table that some reader has open, or had. Clones share it; beside the registry's, each open reader holds one.
#[derive(Clone)]
pub(crate) struct OpenTable(Thin<TableHead>);

impl OpenTable {
    pub(crate) fn new(slot: u32, fences: &Fences) -> Self {
        let head =
            TableHead { slot, segments: fences.len() as u32, fence_bytes: fences.packed().len() as u32 };
        Self(Thin::new(head, Slot::default, fences.packed()))
    }

    /// Bytes of a table with these fences.
    pub(crate) fn bytes_for(fences: &Fences) -> usize {
        Thin::<TableHead>::bytes_for(fences.len(), fences.packed().len())
    }

    /// Bytes of this table.
    pub(crate) fn bytes(&self) -> usize {
        self.0.allocated_bytes()
    }

    /// The registry's slot of the table.
    #[inline]
    pub(crate) fn slot(&self) -> u32 {
        self.0.head().slot
    }

    pub(crate) fn fences(&self) -> FencesRef<'_> {
        FencesRef::new(self.0.bytes(), self.0.head().segments)
    }

    /// One slot per segment.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        self.0.items()
    }

    /// Whether no reader has the table open: nobody but the caller holds it.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_unique()
    }
}
