//! What a lookup holds of a table.

use std::sync::Arc;

use springbloom_filter::KeyDigest;

use crate::absences::{Absence, AbsenceCache};
use crate::events::{EventBase, EventHub};
use crate::opened::OpenTable;
use crate::{FencesRef, MemoryKind, Outcome, TableId};

/// An open reader's access to its table's filters. Dropping it says that the reader was closed and what the host kept for it is freed; the
/// table's state stays.
pub struct TableHandle {
    table: OpenTable,
    hub: Arc<EventHub>,
    event_base: EventBase,
    id: TableId,
    number: u32,
    /// Reserved for what the host keeps for this reader.
    host_bytes: u32,
    absences: Arc<AbsenceCache>,
}

impl TableHandle {
    pub(crate) fn new(
        table: OpenTable,
        hub: Arc<EventHub>,
        event_base: EventBase,
        id: TableId,
        number: u32,
        host_bytes: u32,
        absences: Arc<AbsenceCache>,
    ) -> Self {
        Self { table, hub, event_base, id, number, host_bytes, absences }
    }

    /// Identity of the table.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// First keys of the table's segments.
    pub fn fences(&self) -> FencesRef<'_> {
        self.table.fences()
    }

    /// Bytes that the table's fences and places of groups take.
    pub fn memory_bytes(&self) -> usize {
        self.table.bytes()
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

    /// Whether an earlier lookup [found](Self::learn_absence) that the table does not hold `key`; to be asked when the units let it pass, and
    /// to be [recorded](Self::record) as [`Outcome::KnownAbsent`] if so. Lock-free, without allocation.
    #[inline]
    pub fn is_known_absent(&self, key: &[u8], digest: KeyDigest) -> bool {
        self.absences.contains(&Absence::new(self.number, key, digest))
    }

    /// Remembers that the table holds no entry whatever for `key` (of any age or kind), as far as there is room. A table that says so by mistake
    /// answers wrongly ever after: hosts must be certain. Keys of more than 112 bytes are not remembered. Lock-free, without
    /// allocation.
    pub fn learn_absence(&self, key: &[u8], digest: KeyDigest) {
        if self.number != u32::MAX {
            self.absences.insert(&Absence::new(self.number, key, digest));
        }
    }

    /// Notes how a lookup's visit to `segment` ended. Lock-free, without allocation (but for the thread's first visit).
    #[inline]
    pub fn record(&self, segment: u32, outcome: Outcome) {
        self.hub.record(self.event_base, segment, outcome);
    }
}

impl Drop for TableHandle {
    fn drop(&mut self) {
        self.absences.budget().release(MemoryKind::Bookkeeping, self.host_bytes as usize);
    }
}
