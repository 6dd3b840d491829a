//! What the registry keeps of a known table.

use crate::lookup::TableShared;

/// A known table.
pub(crate) struct Table {
    /// What lookups read.
    pub shared: TableShared,
    /// Number of its source.
    pub source: u32,
    /// Its place in the load queue.
    pub queue_link: QueueLink,
}

/// A table's place in a list of the load queue: the next table. The highest bit tells that the last read of the table's
/// units failed, or was not made because those of its source fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueLink(u32);

impl QueueLink {
    const FAILED: u32 = 1 << 31;
    const NONE: u32 = Self::FAILED - 1;
    const END: u32 = Self::NONE - 1;

    /// Of a table that is in no list, and whose last read did not fail.
    pub(crate) const NOT: QueueLink = QueueLink(Self::NONE);

    fn place(self) -> u32 {
        self.0 & !Self::FAILED
    }

    fn set_place(&mut self, place: u32) {
        self.0 = self.0 & Self::FAILED | place;
    }

    pub(crate) fn is_linked(self) -> bool {
        self.place() != Self::NONE
    }

    /// The table behind this one in its list.
    pub(crate) fn next(self) -> Option<u32> {
        Some(self.place()).filter(|&place| place < Self::END)
    }

    /// Puts the table before `next`, or at the end of a list.
    pub(crate) fn link_to(&mut self, next: Option<u32>) {
        self.set_place(next.unwrap_or(Self::END));
    }

    /// Takes the table out of its list.
    pub(crate) fn unlink(&mut self) {
        self.set_place(Self::NONE);
    }

    pub(crate) fn has_failed(self) -> bool {
        self.0 & Self::FAILED != 0
    }

    pub(crate) fn set_failed(&mut self, failed: bool) {
        self.0 = self.place() | if failed { Self::FAILED } else { 0 };
    }
}
