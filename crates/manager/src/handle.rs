//! What a lookup holds of a table.

use springbloom_filter::KeyDigest;

use crate::events::EventBase;
use crate::opened::OpenTable;
use crate::{Fences, Outcome, TableId};

/// An open reader's access to its table's filters. Dropping it says that the reader was closed; the table's state stays.
pub struct TableHandle {
    table: OpenTable,
    event_base: EventBase,
    id: TableId,
}

impl TableHandle {
    pub(crate) fn new(table: OpenTable, event_base: EventBase, id: TableId) -> Self {
        table.open_reader();
        Self { table, event_base, id }
    }

    /// Identity of the table.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// First keys of the table's segments.
    pub fn fences(&self) -> &Fences {
        self.table.fences()
    }

    /// Whether `segment` may hold the key with this digest; `false` is certain. Lock-free, without allocation (but for
    /// the thread's first lookup). Unknown segments may match.
    #[inline]
    pub fn may_match(&self, segment: u32, digest: KeyDigest) -> bool {
        self.rejection(segment, digest).is_none()
    }

    /// As [`may_match`](Self::may_match), with the outcome to [`record`](Self::record) when the key is certainly not there.
    #[inline]
    pub fn rejection(&self, segment: u32, digest: KeyDigest) -> Option<Outcome> {
        self.table.slots().get(segment as usize)?.rejection(digest)
    }

    /// Notes how a lookup's visit to `segment` ended. Lock-free, without allocation (but for the thread's first visit).
    #[inline]
    pub fn record(&self, segment: u32, outcome: Outcome) {
        self.table.hub().record(self.event_base, segment, outcome);
    }
}

impl Drop for TableHandle {
    fn drop(&mut self) {
        self.table.close_reader();
    }
}
