//! What the registry keeps of a known table.

use crate::lookup::ResidentTable;

/// A known table.
pub(super) struct Table {
    pub open: ResidentTable,
    /// Number of its source.
    pub source: u32,
    /// Its place in the load queue.
    pub queue_link: QueueLink,
}

impl Table {
    /// Whether it is in the load queue.
    pub(super) fn is_noted(&self) -> bool {
        self.queue_link != QueueLink::NOT
    }
}

/// A table's place in the list of those that are noted: the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueLink(pub u32);

impl QueueLink {
    pub(super) const NOT: QueueLink = QueueLink(u32::MAX);
    pub(super) const LAST: QueueLink = QueueLink(u32::MAX - 1);
}
