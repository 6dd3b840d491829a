//! Deferred tables: the manager refused them for lack of room, or their units could not be read. They are opened again when there may be
//! more room, and until they can be read.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;

/// What opening a deferred table came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryResult {
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
pub(crate) trait DeferredFamily: Send {
    /// Tries to open one of them.
    fn retry(&self) -> RetryResult;
}

/// Column families with deferred tables, by the address of the adapter's object.
#[derive(Default)]
pub(crate) struct DeferredTables {
    state: Mutex<State>,
    /// Not behind the mutex: a table is closed under a lock of the adapter's, which the adapter also takes while one is tried.
    tables: AtomicU64,
}

/// Locked while a table is tried, so that its column family stays. `None`: the column family was removed.
type Tries = Arc<Mutex<Option<Box<dyn DeferredFamily>>>>;

/// A column family with deferred tables.
struct Entry {
    retry: Tries,
    /// Tables deferred so far.
    deferred: u64,
}

#[derive(Default)]
struct State {
    families: BTreeMap<usize, Entry>,
    /// The family to try first: the one after that of the last refusal, so that a large table does not keep all others waiting.
    first: usize,
}

impl DeferredTables {
    /// The column family has a deferred table.
    pub(crate) fn add(&self, family: usize, retry: Box<dyn DeferredFamily>) {
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

    /// Tries all tables until one is refused. It is called again and again: whether there is more room than before is not asked, because
    /// the budget may have moved there and back while a table was tried.
    pub(crate) fn retry(&self) {
        for family in self.in_turn() {
            while let Some((retry, deferred)) = self.entry(family) {
                let tried = retry.lock().as_ref().map(|family| family.retry());
                match tried {
                    Some(RetryResult::Opened) => self.end_one(),
                    Some(RetryResult::NoneLeft) => {
                        self.remove_unless_deferred_since(family, &retry, deferred)
                    }
                    Some(RetryResult::NoRoom) => {
                        self.state.lock().first = family + 1;
                        return;
                    }
                    Some(RetryResult::Unreadable) | None => break, // `None`: it was removed meanwhile
                }
            }
        }
    }

    fn in_turn(&self) -> Vec<usize> {
        let state = self.state.lock();
        let keys = |(&family, _)| family;
        let (before, from) = (state.families.range(..state.first), state.families.range(state.first..));
        from.map(keys).chain(before.map(keys)).collect()
    }

    fn entry(&self, family: usize) -> Option<(Tries, u64)> {
        self.state.lock().families.get(&family).map(|entry| (entry.retry.clone(), entry.deferred))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A column family whose table takes long to open: as long as the test says.
    struct Slow {
        begun: Sender<()>,
        go_on: Mutex<Receiver<()>>,
    }

    impl DeferredFamily for Slow {
        fn retry(&self) -> RetryResult {
            self.begun.send(()).expect("the test waits for it");
            self.go_on.lock().recv().expect("the test lets it go on");
            RetryResult::NoneLeft
        }
    }

    /// A column family whose next table is as large as the test says.
    struct NeedsRoom {
        needs: u64,
        room: Arc<AtomicU64>,
        tries: Arc<AtomicU64>,
    }

    impl DeferredFamily for NeedsRoom {
        fn retry(&self) -> RetryResult {
            self.tries.fetch_add(1, Ordering::Relaxed);
            let has_room = self.room.load(Ordering::Relaxed) >= self.needs;
            if has_room { RetryResult::NoneLeft } else { RetryResult::NoRoom }
        }
    }

    #[test]
    fn a_refused_table_is_tried_again_and_keeps_no_other_column_family_waiting() {
        let (deferred, room) = (DeferredTables::default(), Arc::new(AtomicU64::new(1)));
        let counts = [(1, 5), (2, 1), (3, 1)].map(|(family, needs)| {
            let tries = Arc::<AtomicU64>::default();
            deferred.add(family, Box::new(NeedsRoom { needs, room: room.clone(), tries: tries.clone() }));
            tries
        });
        let tried = |times: usize| {
            (0..times).for_each(|_| deferred.retry());
            counts.each_ref().map(|count| count.swap(0, Ordering::Relaxed))
        };
        assert_eq!(tried(1), [1, 0, 0], "it is refused");
        assert_eq!(tried(1), [1, 1, 1]);
        assert_eq!(tried(3), [3, 0, 0], "the others have their units");
        room.store(5, Ordering::Relaxed);
        assert_eq!(tried(2), [1, 0, 0]);
    }

    #[test]
    fn a_column_family_is_closed_while_a_table_of_another_one_is_tried() {
        let (deferred, closed) = (DeferredTables::default(), channel());
        let (begun, has_begun) = channel();
        let (go_on, may_go_on) = channel();
        deferred.add(1, Box::new(Slow { begun: begun.clone(), go_on: Mutex::new(may_go_on) }));
        deferred.add(2, Box::new(Slow { begun, go_on: Mutex::new(channel().1) }));
        std::thread::scope(|scope| {
            scope.spawn(|| deferred.retry());
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
