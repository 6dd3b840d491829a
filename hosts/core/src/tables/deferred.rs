//! Deferred tables: the manager refused them for lack of room. They are opened again when there may be more.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::Mutex;
use springbloom_manager::{Manager, MemoryKind};

/// What opening a deferred table came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    /// It has its units, or never will: it is not tried again.
    Opened,
    /// There is no room for it yet.
    NoRoom,
    /// There is no deferred table.
    NoneLeft,
}

/// The deferred tables of a column family.
pub(crate) trait Retry: Send {
    /// Tries to open one of them.
    fn retry(&self) -> Tried;
}

/// Column families with deferred tables, by the address of the adapter's object.
#[derive(Default)]
pub(crate) struct DeferredTables {
    state: Mutex<State>,
    /// Not behind the mutex: a table is closed under a lock of the adapter's, which the adapter also takes while one is tried.
    tables: AtomicU64,
}

#[derive(Default)]
struct State {
    families: BTreeMap<usize, Box<dyn Retry>>,
    /// The room at the last refusal. As long as there is no more, the answer is the same.
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
            limit_bytes: budget.budget_bytes(),
            bookkeeping_bytes: budget.used_bytes_of(MemoryKind::Bookkeeping),
        }
    }

    fn is_more_than(self, other: Self) -> bool {
        self.limit_bytes > other.limit_bytes || self.bookkeeping_bytes < other.bookkeeping_bytes
    }
}

impl DeferredTables {
    /// The column family has a deferred table.
    pub(crate) fn add(&self, family: usize, retry: Box<dyn Retry>) {
        self.tables.fetch_add(1, Ordering::Relaxed);
        self.state.lock().families.insert(family, retry);
    }

    /// A table is deferred no more: it was closed, or opened with its units.
    pub(crate) fn end_one(&self) {
        self.tables.fetch_sub(1, Ordering::Relaxed);
    }

    /// Deferred tables there are.
    pub(crate) fn count(&self) -> u64 {
        self.tables.load(Ordering::Relaxed)
    }

    /// When this returns, no table of the column family is being tried, and none will be.
    pub(crate) fn remove(&self, family: usize) {
        self.state.lock().families.remove(&family);
    }

    /// If there is more room than at the last refusal: tries all tables until one is refused again.
    pub(crate) fn retry(&self, manager: &Manager) {
        let mut is_first = true;
        loop {
            // Held while a table is tried, so that its column family stays. Let go of between tables, because readers open and close.
            let mut state = self.state.lock();
            let room = Room::of(manager);
            if is_first && state.refused_at.is_some_and(|refused_at| !room.is_more_than(refused_at)) {
                return;
            }
            is_first = false;
            let Some(family) = state.families.first_entry() else {
                state.refused_at = None;
                return;
            };
            match family.get().retry() {
                Tried::Opened => self.end_one(),
                Tried::NoneLeft => drop(family.remove()),
                Tried::NoRoom => {
                    state.refused_at = Some(room);
                    return;
                }
            }
        }
    }
}
