//! Tables that were refused for lack of room: tried again when there may be more.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use springbloom_manager::{Manager, MemoryKind};

use crate::mutex::lock;

/// What trying a refused table came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    /// It is refused no more.
    Opened,
    /// There is no room for it yet.
    NoRoom,
    /// There is none.
    NoneLeft,
}

/// The refused tables of a column family.
pub(crate) trait Retry: Send {
    /// Tries one of them.
    fn retry(&self) -> Tried;
}

/// Column families with refused tables, by what tells them apart.
#[derive(Default)]
pub(crate) struct RefusedTables {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    families: BTreeMap<usize, Box<dyn Retry>>,
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
            limit_bytes: budget.budget_bytes(),
            bookkeeping_bytes: budget.used_bytes_of(MemoryKind::Bookkeeping),
        }
    }

    fn is_more_than(self, other: Self) -> bool {
        self.limit_bytes > other.limit_bytes || self.bookkeeping_bytes < other.bookkeeping_bytes
    }
}

impl RefusedTables {
    /// A table of the column family was refused just now.
    pub(crate) fn add(&self, family: usize, retry: Box<dyn Retry>) {
        self.lock().families.insert(family, retry);
    }

    /// When this returns, no table of the column family is being tried, and none will be.
    pub(crate) fn remove(&self, family: usize) {
        self.lock().families.remove(&family);
    }

    /// Tries all tables, until one is refused again, if there is more room than at the last refusal.
    pub(crate) fn retry(&self, manager: &Manager) {
        let mut is_first = true;
        loop {
            // Held while a table is tried, so that its column family does not go away; not longer, as readers open and close.
            let mut state = self.lock();
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
                Tried::Opened => (),
                Tried::NoneLeft => drop(family.remove()),
                Tried::NoRoom => {
                    state.refused_at = Some(room);
                    return;
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}
