//! Deferred tables: the manager refused them for lack of room, or their units could not be read. They are opened again when there may be
//! more room, and until they can be read.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::{Mutex, RwLock};

/// A column family whose tables could not be read is left alone for so long at first, and for twice as long after each further failure.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// Where tables are damaged for good, they are read for ever: rarely. A fault that passes leaves no trace a minute later.
const PAUSE_MAX: Duration = Duration::from_secs(16);
/// Tables that are tried at a time, each by a thread.
pub(crate) const TRIES_MAX: usize = 16;
/// A try that takes longer seems to hang.
const LATE: Duration = Duration::from_millis(250);

/// What opening a deferred table came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryResult {
    /// It has its units, or never will: it is not tried again.
    Opened,
    /// There is no room for it yet.
    NoRoom,
    /// Some cannot be read at present.
    Unreadable,
    /// All that there are are being tried.
    Busy,
    /// There is no deferred table.
    NoneLeft,
}

/// The deferred tables of a column family.
pub(crate) trait DeferredFamily: Send + Sync {
    /// Tries to open one of them. Several threads may.
    fn retry(&self) -> RetryResult;
}

/// Column families with deferred tables, by the address of the adapter's object.
#[derive(Default)]
pub(crate) struct DeferredTables {
    state: Mutex<State>,
    /// Not behind the mutex: a table is closed under a lock of the adapter's, which the adapter also takes while one is tried.
    tables: AtomicU64,
}

/// Shared while a table is tried, so that its column family stays. `None`: the column family was removed.
type Tries = Arc<RwLock<Option<Box<dyn DeferredFamily>>>>;

/// A column family with deferred tables.
struct Entry {
    retry: Tries,
    /// Tables deferred so far.
    deferred: u64,
    pause: Duration,
    due: Instant,
    /// Whether it had none left when it was tried last. It stays until it is removed, which waits for its tries.
    is_empty: bool,
    /// When the tries began that are under way.
    tries: Vec<Instant>,
}

impl Entry {
    fn is_due(&self, now: Instant) -> bool {
        !self.is_empty && self.due <= now
    }

    fn is_unreadable(&self) -> bool {
        !self.pause.is_zero() || self.tries.iter().any(|begun| begun.elapsed() >= LATE)
    }
}

#[derive(Default)]
struct State {
    families: BTreeMap<usize, Entry>,
    /// Tries that are under way.
    tries: usize,
    /// The family to try first: the one after that of the last refusal, so that a large table does not keep all others waiting.
    first: usize,
}

impl DeferredTables {
    /// The column family has a deferred table.
    pub(crate) fn add(&self, family: usize, retry: Box<dyn DeferredFamily>) {
        self.tables.fetch_add(1, Ordering::Relaxed);
        let due = Instant::now();
        let new = || Entry {
            retry: Arc::new(RwLock::new(Some(retry))),
            deferred: 0,
            pause: Duration::ZERO,
            due,
            is_empty: false,
            tries: Vec::new(),
        };
        let mut state = self.state.lock();
        let entry = state.families.entry(family).or_insert_with(new);
        entry.deferred += 1;
        (entry.due, entry.is_empty) = (due, false);
    }

    /// A table is deferred no more: it was closed, or opened with its units.
    pub(crate) fn end_one(&self) {
        self.tables.fetch_sub(1, Ordering::Relaxed);
    }

    /// Deferred tables that have no room, and those that cannot be read. While some cannot, all count as such: which ones is not kept.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let tables = self.tables.load(Ordering::Relaxed);
        if self.state.lock().families.values().any(Entry::is_unreadable) { (0, tables) } else { (tables, 0) }
    }

    /// When this returns, no table of the column family is being tried, and none will be.
    pub(crate) fn remove(&self, family: usize) {
        let removed = self.state.lock().families.remove(&family);
        // Without the lock of all column families: a try of another one is not waited for.
        if let Some(Entry { retry, .. }) = removed {
            *retry.write() = None;
        }
    }

    /// A column family had no deferred table when `deferred` had been.
    fn set_empty_unless_deferred_since(&self, family: usize, deferred: u64) {
        if let Some(entry) = self.state.lock().families.get_mut(&family) {
            entry.is_empty = entry.deferred == deferred;
        }
    }

    /// Whether a table is to be tried now.
    pub(crate) fn has_due(&self) -> bool {
        let now = Instant::now();
        self.state.lock().families.values().any(|entry| entry.is_due(now))
    }

    /// Tries all tables until one is refused. It is called again and again: whether there is more room than before is not asked, because
    /// the budget may have moved there and back while a table was tried. A try may hang: another thread calls this meanwhile.
    pub(crate) fn retry(&self) {
        self.retry_at(Instant::now());
    }

    fn retry_at(&self, now: Instant) {
        for family in self.in_turn(now) {
            while let Some((retry, deferred)) = self.entry(family) {
                match self.try_one(family, &retry) {
                    Some(RetryResult::Opened) => {
                        self.end_one();
                        self.set_pause(family, now, |_| Duration::ZERO);
                    }
                    Some(RetryResult::NoneLeft) => {
                        self.set_empty_unless_deferred_since(family, deferred);
                    }
                    Some(RetryResult::NoRoom) => {
                        self.state.lock().first = family + 1;
                        return;
                    }
                    Some(RetryResult::Unreadable) => {
                        self.set_pause(family, now, |last| (2 * last).clamp(PAUSE_MIN, PAUSE_MAX));
                        break;
                    }
                    Some(RetryResult::Busy) | None => break,
                }
            }
        }
    }

    /// `None`: the column family was or is being removed, or has as many tries as it may.
    fn try_one(&self, family: usize, retry: &Tries) -> Option<RetryResult> {
        let tables = retry.try_read()?;
        let _under_way = UnderWay::begin(self, family)?;
        tables.as_ref().map(|tables| tables.retry())
    }

    fn set_pause(&self, family: usize, now: Instant, next: impl FnOnce(Duration) -> Duration) {
        if let Some(entry) = self.state.lock().families.get_mut(&family) {
            entry.pause = next(entry.pause);
            entry.due = now + entry.pause;
        }
    }

    fn in_turn(&self, now: Instant) -> Vec<usize> {
        let state = self.state.lock();
        let (before, from) = (state.families.range(..state.first), state.families.range(state.first..));
        from.chain(before).filter(|(_, entry)| entry.is_due(now)).map(|(&family, _)| family).collect()
    }

    fn entry(&self, family: usize) -> Option<(Tries, u64)> {
        let state = self.state.lock();
        let entry = state.families.get(&family).filter(|entry| !entry.is_empty)?;
        Some((entry.retry.clone(), entry.deferred))
    }
}

/// A try, until this is dropped.
struct UnderWay<'a> {
    deferred: &'a DeferredTables,
    family: usize,
    begun: Instant,
}

impl<'a> UnderWay<'a> {
    /// A column family may have a quarter of the tries at most: the next one that hangs, a quarter of the rest, and at least one.
    fn begin(deferred: &'a DeferredTables, family: usize) -> Option<Self> {
        let begun = Instant::now();
        let mut state = deferred.state.lock();
        let tries = state.tries;
        let entry =
            state.families.get_mut(&family).filter(|entry| 3 * entry.tries.len() + tries < TRIES_MAX)?;
        entry.tries.push(begun);
        state.tries += 1;
        Some(Self { deferred, family, begun })
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = self.deferred.state.lock();
        state.tries -= 1;
        if let Some(entry) = state.families.get_mut(&self.family)
            && let Some(at) = entry.tries.iter().position(|begun| *begun == self.begun)
        {
            entry.tries.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::AtomicBool,
        mpsc::{Receiver, Sender, channel},
    };

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

    /// A column family whose table cannot be read.
    struct Damaged(Arc<AtomicU64>);

    impl DeferredFamily for Damaged {
        fn retry(&self) -> RetryResult {
            self.0.fetch_add(1, Ordering::Relaxed);
            RetryResult::Unreadable
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
        assert_eq!(deferred.counts(), (3, 0));
        assert_eq!(tried(1), [1, 1, 1]);
        assert_eq!(tried(3), [3, 0, 0], "the others have their units");
        room.store(5, Ordering::Relaxed);
        assert_eq!(tried(2), [1, 0, 0]);
    }

    #[test]
    fn damage_that_stays_is_read_again_for_ever_at_a_bounded_rate() {
        let (deferred, tries) = (DeferredTables::default(), Arc::<AtomicU64>::default());
        let begun = Instant::now();
        deferred.add(1, Box::new(Damaged(tries.clone())));
        let mut at = Vec::new();
        for half_seconds in 1..400 {
            deferred.retry_at(begun + half_seconds * PAUSE_MIN);
            if tries.swap(0, Ordering::Relaxed) > 0 {
                at.push(half_seconds);
            }
        }
        assert_eq!(at[..8], [1, 2, 4, 8, 16, 32, 64, 96]);
        assert!(at.windows(2).skip(6).all(|pair| (pair[1] - pair[0]) * PAUSE_MIN == PAUSE_MAX), "{at:?}");
        // The next one is tried soon.
        deferred.add(1, Box::new(Damaged(tries.clone())));
        deferred.retry_at(Instant::now());
        assert_eq!((tries.load(Ordering::Relaxed), deferred.counts()), (1, (0, 2)));
        deferred.remove(1);
        (0..2).for_each(|_| deferred.end_one());
        assert_eq!(deferred.counts(), (0, 0));
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
        assert!(!deferred.has_due());
    }

    /// A column family whose tables cannot be read until the test says so.
    struct Hangs(Arc<AtomicBool>);

    impl DeferredFamily for Hangs {
        fn retry(&self) -> RetryResult {
            while !self.0.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            RetryResult::NoneLeft
        }
    }

    #[test]
    fn column_families_that_hang_leave_tries_to_others_and_end_after_theirs() {
        let (deferred, is_over) = (DeferredTables::default(), Arc::<AtomicBool>::default());
        (1..=8).for_each(|family| deferred.add(family, Box::new(Hangs(is_over.clone()))));
        let tries = || {
            let state = deferred.state.lock();
            state.families.values().map(|entry| entry.tries.len()).collect::<Vec<_>>()
        };
        std::thread::scope(|scope| {
            for threads in 1..=TRIES_MAX {
                scope.spawn(|| deferred.retry());
                while tries().iter().sum::<usize>() < threads {
                    std::thread::yield_now();
                }
            }
            assert_eq!(tries(), [4, 3, 3, 2, 1, 1, 1, 1]);
            let removed = scope.spawn(|| deferred.remove(1));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!removed.is_finished());
            is_over.store(true, Ordering::SeqCst);
        });
        assert_eq!((tries(), deferred.has_due()), (vec![0; 7], false));
    }
}
