//! Deferred tables: the manager refused them for lack of room, or their units could not be read. They are opened again when there may be
//! more room, and until they can be read.

use std::{
    collections::BTreeMap,
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
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
    /// Some cannot be read at present.
    Unreadable,
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

/// Locked while a table is tried, so that its column family stays. `None`: the column family was removed.
type Tries = Arc<Mutex<Option<Box<dyn Retry>>>>;

/// A column family with deferred tables.
struct Entry {
    retry: Tries,
    /// Tables deferred so far.
    deferred: u64,
}

#[derive(Default)]
struct State {
    families: BTreeMap<usize, Entry>,
    /// The room at the last refusal. As long as there is no more, the answer is the same.
    refused_at: Option<Room>,
    /// Whether some could not be read the last time: they are tried again whatever the room.
    has_unreadable: bool,
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
        let new = || Entry { retry: Arc::new(Mutex::new(Some(retry))), deferred: 0 };
        self.state.lock().families.entry(family).or_insert_with(new).deferred += 1;
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
        let removed = self.state.lock().families.remove(&family);
        // Without the lock of all column families: a try of another one is not waited for.
        if let Some(Entry { retry, .. }) = removed {
            *retry.lock() = None;
        }
    }

    /// Takes a column family out that had no deferred table when `deferred` had been.
    fn remove_unless_deferred_since(&self, family: usize, retry: &Tries, deferred: u64) {
        let mut state = self.state.lock();
        let is_same = |entry: &Entry| Arc::ptr_eq(&entry.retry, retry) && entry.deferred == deferred;
        if state.families.get(&family).is_some_and(is_same) {
            state.families.remove(&family);
        }
    }

    /// If there is more room than at the last refusal, or some could not be read: tries all tables until one is refused again.
    pub(crate) fn retry(&self, manager: &Manager) {
        let (mut is_first, mut unreadable) = (true, Bound::Unbounded);
        loop {
            let mut state = self.state.lock();
            let room = Room::of(manager);
            let is_refused = state.refused_at.is_some_and(|refused_at| !room.is_more_than(refused_at));
            if is_first && is_refused && !state.has_unreadable {
                return;
            }
            is_first = false;
            // Behind those that cannot be read now.
            let Some((&family, entry)) = state.families.range((unreadable, Bound::Unbounded)).next() else {
                state.refused_at = None;
                state.has_unreadable = unreadable != Bound::Unbounded;
                return;
            };
            let (retry, deferred) = (entry.retry.clone(), entry.deferred);
            drop(state);
            let tried = retry.lock().as_ref().map(|family| family.retry());
            match tried {
                None => (), // it was removed meanwhile
                Some(Tried::Opened) => self.end_one(),
                Some(Tried::NoneLeft) => self.remove_unless_deferred_since(family, &retry, deferred),
                Some(Tried::Unreadable) => unreadable = Bound::Excluded(family),
                Some(Tried::NoRoom) => {
                    let mut state = self.state.lock();
                    state.refused_at = Some(room);
                    state.has_unreadable |= unreadable != Bound::Unbounded;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::{filters::settings::Settings, test_engine::TEST_ENGINE};

    /// A column family whose table takes long to open: as long as the test says.
    struct Slow {
        begun: Sender<()>,
        go_on: Mutex<Receiver<()>>,
    }

    impl Retry for Slow {
        fn retry(&self) -> Tried {
            self.begun.send(()).expect("the test waits for it");
            self.go_on.lock().recv().expect("the test lets it go on");
            Tried::NoneLeft
        }
    }

    #[test]
    fn a_column_family_is_closed_while_a_table_of_another_one_is_tried() {
        let manager =
            Settings::default().start(&TEST_ENGINE).expect("the settings are sound").manager.clone();
        let (deferred, closed) = (DeferredTables::default(), channel());
        let (begun, has_begun) = channel();
        let (go_on, may_go_on) = channel();
        deferred.add(1, Box::new(Slow { begun: begun.clone(), go_on: Mutex::new(may_go_on) }));
        deferred.add(2, Box::new(Slow { begun, go_on: Mutex::new(channel().1) }));
        std::thread::scope(|scope| {
            scope.spawn(|| deferred.retry(&manager));
            has_begun.recv().expect("the first one is tried");
            scope.spawn(|| {
                deferred.remove(2);
                closed.0.send(()).expect("the test waits for it");
            });
            let is_closed = closed.1.recv_timeout(std::time::Duration::from_secs(20));
            if is_closed.is_ok() {
                // A table that is deferred now is not forgotten with those that there were.
                deferred.add(1, Box::new(Slow { begun: channel().0, go_on: Mutex::new(channel().1) }));
            }
            (0..2).for_each(|_| go_on.send(()).expect("it is tried"));
            assert_eq!(is_closed, Ok(()), "it waits for the other one");
        });
        assert_eq!(has_begun.try_iter().count(), 1, "the column family is tried once more");
        assert!(deferred.state.lock().families.is_empty());
    }
}
