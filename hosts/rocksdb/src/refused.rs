//! Readers whose tables were refused for lack of room: tried again when there may be more.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{Mutex, MutexGuard, PoisonError},
};

use springbloom_manager::{Manager, MemoryKind};

use crate::open_table::Unopened;

/// Opens a reader's table again.
pub(crate) trait Retry: Send {
    /// Errors with what stands in the way now.
    fn retry(&self) -> Result<(), Unopened>;
}

/// The readers, by what tells them apart.
#[derive(Default)]
pub(crate) struct RefusedTables {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    readers: BTreeMap<usize, Box<dyn Retry>>,
    /// How things stood at the last refusal. With no more room than then the answer is the same.
    refused_at: Option<Room>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Room {
    limit_bytes: usize,
    bookkeeping_bytes: usize,
}

impl Room {
    fn of(manager: &Manager) -> Self {
        let budget = manager.budget();
        Self {
            limit_bytes: budget.limit_bytes(),
            bookkeeping_bytes: budget.used_bytes_of(MemoryKind::Bookkeeping),
        }
    }

    fn is_more_than(self, other: Self) -> bool {
        self.limit_bytes > other.limit_bytes || self.bookkeeping_bytes < other.bookkeeping_bytes
    }
}

impl RefusedTables {
    /// A reader that was refused just now.
    pub(crate) fn add(&self, reader: usize, retry: Box<dyn Retry>) {
        self.lock().readers.insert(reader, retry);
    }

    /// When this returns, the reader is not being tried and will not be.
    pub(crate) fn remove(&self, reader: usize) {
        self.lock().readers.remove(&reader);
    }

    /// Tries all readers, until one is refused again, if there is more room than at the last refusal.
    pub(crate) fn retry(&self, manager: &Manager) {
        let mut last = None;
        loop {
            // Held while the reader is tried, so that it does not go away meanwhile; not longer, as readers open and close.
            let mut state = self.lock();
            let room = Room::of(manager);
            if last.is_none() && state.refused_at.is_some_and(|refused_at| !room.is_more_than(refused_at)) {
                return;
            }
            let behind = last.map_or(Bound::Unbounded, Bound::Excluded);
            let Some((&reader, retry)) = state.readers.range((behind, Bound::Unbounded)).next() else {
                state.refused_at = None;
                return;
            };
            if retry.retry() == Err(Unopened::NoRoom) {
                state.refused_at = Some(room);
                return;
            }
            state.readers.remove(&reader);
            last = Some(reader);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
