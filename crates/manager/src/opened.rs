//! What lookups and the background thread share of a table: its fences, its resident groups, its sources.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::events::{EventBase, EventHub};
use crate::resident::Slots;
use crate::{Fences, Reservation, TableId, UnitSource};

/// A table that some reader has open, or had.
pub(crate) struct OpenTable {
    pub id: TableId,
    pub fences: Fences,
    pub slots: Slots,
    pub events: Arc<EventHub>,
    pub event_base: EventBase,
    /// One source per open reader: a reader that closes takes its file handle with it.
    sources: Mutex<Vec<(u64, Arc<dyn UnitSource>)>>,
    /// Everything that is kept for the table except its units.
    _reservation: Reservation,
}

impl OpenTable {
    pub(crate) fn new(
        id: TableId,
        fences: Fences,
        events: Arc<EventHub>,
        event_base: EventBase,
        reservation: Reservation,
    ) -> Self {
        let slots = Slots::new(fences.len());
        Self {
            id,
            fences,
            slots,
            events,
            event_base,
            sources: Mutex::new(Vec::new()),
            _reservation: reservation,
        }
    }

    /// Bytes of a table with these fences, beside those that are kept per segment.
    pub(crate) fn bytes_for(fences: &Fences) -> usize {
        size_of::<Self>() + fences.memory_bytes() + fences.len() * Slots::BYTES
    }

    pub(crate) fn open_reader(&self, reader: u64, source: Arc<dyn UnitSource>) {
        self.sources().push((reader, source));
    }

    pub(crate) fn close_reader(&self, reader: u64) {
        let mut sources = self.sources();
        let closed =
            sources.iter().position(|&(opened, _)| opened == reader).map(|at| sources.swap_remove(at));
        drop(sources); // the host's source may take its time to close
        drop(closed);
    }

    /// The source of the reader that was opened last.
    pub(crate) fn source(&self) -> Option<Arc<dyn UnitSource>> {
        self.sources().last().map(|(_, source)| source.clone())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sources().is_empty()
    }

    fn sources(&self) -> MutexGuard<'_, Vec<(u64, Arc<dyn UnitSource>)>> {
        self.sources.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
