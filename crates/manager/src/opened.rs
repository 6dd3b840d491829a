//! What lookups share with the background thread of a table: its fences and its resident groups, in one allocation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use triomphe::ThinArc;

use crate::events::EventHub;
use crate::memory::allocated_bytes;
use crate::resident::Slot;
use crate::{Fences, MemoryKind, Reservation};

/// What stands before a table's slots.
struct Head {
    fences: Fences,
    hub: Arc<EventHub>,
    /// Everything that is kept for the table except its units.
    bookkeeping_bytes: usize,
    open_readers: AtomicU32,
}

impl Drop for Head {
    fn drop(&mut self) {
        self.hub.budget().release(MemoryKind::Bookkeeping, self.bookkeeping_bytes);
    }
}

/// A table that some reader has open, or had. Clones share it.
#[derive(Clone)]
pub(crate) struct OpenTable(ThinArc<Head, Slot>);

impl OpenTable {
    /// `reservation` is for everything that is kept for the table except its units.
    pub(crate) fn new(fences: Fences, hub: Arc<EventHub>, reservation: Reservation) -> Self {
        let bookkeeping_bytes = reservation.bytes();
        reservation.hand_over(MemoryKind::Bookkeeping);
        let slots = std::iter::repeat_with(Slot::default).take(fences.len());
        let head = Head { fences, hub, bookkeeping_bytes, open_readers: AtomicU32::new(0) };
        Self(ThinArc::from_header_and_iter(head, slots))
    }

    /// Bytes of a table with these fences, beside those that are kept elsewhere.
    pub(crate) fn bytes_for(fences: &Fences) -> usize {
        let head = 2 * size_of::<usize>() + size_of::<Head>(); // with count and length
        fences.memory_bytes() + allocated_bytes(head + fences.len() * size_of::<Slot>())
    }

    pub(crate) fn fences(&self) -> &Fences {
        &self.0.header.header.fences
    }

    pub(crate) fn hub(&self) -> &Arc<EventHub> {
        &self.0.header.header.hub
    }

    /// One slot per segment.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.0.slice
    }

    pub(crate) fn open_reader(&self) {
        self.0.header.header.open_readers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn close_reader(&self) {
        self.0.header.header.open_readers.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.header.header.open_readers.load(Ordering::Relaxed) == 0
    }
}
