//! Threads that read units. The background thread makes no read, and another thread helps where all of them take long: a read that hangs
//! delays nothing but its own table.
//!
//! Quick reads and the background thread's rounds take turns: bytes that a read holds look like bytes that the plan may not have.

use std::thread::Thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::load_pause::LoadPause;
use crate::load_unit::Progress;
use crate::registry::READS_MAX;

/// Where the reads of all threads take this long, another one reads, too: a slow device serves several reads in the time of one. Nobody
/// waits for longer ones.
const SLOW: Duration = Duration::from_millis(1);
/// Reads that may begin before a round of the background thread.
const READS_PER_ROUND: u32 = 4;
/// After this time without work a thread ends.
const LINGER: Duration = Duration::from_millis(200);

/// The place of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    None,
    Idle,
    /// At its read since then. `was_slow`: so was the one before.
    Busy {
        since: Instant,
        was_slow: bool,
    },
    /// At a chore, which may take long.
    AtChore,
    /// For the end of a round.
    Waiting {
        was_slow: bool,
    },
}

impl Reader {
    fn begin(was_slow: bool) -> Self {
        Self::Busy { since: Instant::now(), was_slow }
    }

    /// Whether its read ends soon, as far as is known.
    fn is_quick(&self) -> bool {
        match *self {
            Self::Busy { since, was_slow } => !was_slow && since.elapsed() < SLOW,
            Self::Waiting { was_slow } => !was_slow,
            Self::None | Self::Idle | Self::AtChore => false,
        }
    }
}

struct State {
    readers: [Reader; READS_MAX],
    pause: LoadPause,
    /// A round is under way or waits: reads that may begin before it.
    reads_before_round: Option<u32>,
    are_stopped: bool,
}

/// The threads that read units.
pub(super) struct Readers {
    state: Mutex<State>,
    /// For the threads.
    changed: Condvar,
    /// For the background thread: a read is over.
    gave_way: Condvar,
}

impl Readers {
    pub(super) fn new() -> Self {
        let state = State {
            readers: [Reader::None; READS_MAX],
            pause: LoadPause::default(),
            reads_before_round: None,
            are_stopped: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), gave_way: Condvar::new() }
    }

    /// Waits until quick reads give way. Those that end until [`end_round`](Self::end_round) wait for it.
    pub(super) fn begin_round(&self) {
        let mut state = self.state.lock();
        state.reads_before_round = Some(READS_PER_ROUND);
        let are_reading = |state: &mut State| {
            let is_reading = |reader: &Reader| matches!(reader, Reader::Busy { .. }) && reader.is_quick();
            state.readers.iter().any(is_reading)
        };
        self.gave_way.wait_while_for(&mut state, are_reading, SLOW);
        state.reads_before_round = Some(0);
    }

    pub(super) fn end_round(&self) {
        let mut state = self.state.lock();
        state.reads_before_round = None;
        for reader in &mut state.readers {
            if let Reader::Waiting { was_slow } = *reader {
                *reader = Reader::begin(was_slow);
            }
        }
        self.changed.notify_all();
    }

    /// There is something to do. Wakes a thread, if those at work take long; `Some`: start one for this place.
    pub(super) fn call(&self) -> Option<usize> {
        let mut state = self.state.lock();
        if state.readers.iter().any(Reader::is_quick) {
            return None;
        }
        let place_of = |wanted| state.readers.iter().position(|reader| *reader == wanted);
        let idle = place_of(Reader::Idle);
        let place = idle.or_else(|| place_of(Reader::None))?;
        state.readers[place] = Reader::begin(false);
        if idle.is_some() {
            self.changed.notify_all();
            return None;
        }
        Some(place)
    }

    /// The thread does a chore now.
    pub(super) fn begin_chore(&self, place: usize) {
        self.state.lock().readers[place] = Reader::AtChore;
    }

    /// The chore is done.
    pub(super) fn end_chore(&self, place: usize) {
        let mut state = self.state.lock();
        self.take_turn(&mut state, place);
    }

    /// The thread made a read, and makes the next one in its turn.
    pub(super) fn go_on(&self, place: usize) {
        let mut state = self.state.lock();
        state.pause.end();
        self.take_turn(&mut state, place);
    }

    fn take_turn(&self, state: &mut MutexGuard<'_, State>, place: usize) {
        let was_slow = matches!(state.readers[place], Reader::Busy { since, .. } if since.elapsed() >= SLOW);
        if state.reads_before_round == Some(0) {
            state.readers[place] = Reader::Waiting { was_slow };
            self.gave_way.notify_one();
            let waits = |state: &mut State| matches!(state.readers[place], Reader::Waiting { .. });
            self.changed.wait_while(state, waits);
            return;
        }
        if let Some(reads) = &mut state.reads_before_round {
            *reads -= 1;
        }
        state.readers[place] = Reader::begin(was_slow);
    }

    /// The thread has no read to make, because its last try of one ended so. `None`: it did not try. Tells `background`, and returns
    /// whether it was called again; otherwise it ends.
    pub(super) fn rest(&self, place: usize, end: Option<Progress>, background: &Thread) -> bool {
        let mut state = self.state.lock();
        match end {
            Some(Progress::Blocked) => state.pause.lengthen(),
            Some(Progress::Loaded | Progress::Idle) => state.pause.end(),
            None => (),
        }
        state.readers[place] = Reader::Idle;
        self.gave_way.notify_one();
        background.unpark();
        let is_idle = |state: &mut State| state.readers[place] == Reader::Idle && !state.are_stopped;
        self.changed.wait_while_for(&mut state, is_idle, LINGER);
        let is_called = !state.are_stopped && state.readers[place] != Reader::Idle;
        if !is_called {
            state.readers[place] = Reader::None;
        }
        is_called
    }

    /// No thread could be started for the place.
    pub(super) fn give_back(&self, place: usize) {
        self.state.lock().readers[place] = Reader::None;
    }

    /// Lets idle threads end.
    pub(super) fn stop(&self) {
        self.state.lock().are_stopped = true;
        self.changed.notify_all();
    }

    /// Whether a thread is at reads of units.
    pub(super) fn are_busy(&self) -> bool {
        let is_busy = |reader: &Reader| matches!(reader, Reader::Busy { .. } | Reader::Waiting { .. });
        self.state.lock().readers.iter().any(is_busy)
    }

    /// The rest of the pause after a read that found no room.
    pub(super) fn pause_left(&self) -> Duration {
        self.state.lock().pause.left()
    }

    /// Whether something else than a lookup holds the room: a lookup would have let go by now.
    pub(super) fn pause_is_long(&self) -> bool {
        self.state.lock().pause.is_long()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thread_is_called_where_reads_take_long() {
        let readers = Readers::new();
        assert_eq!(readers.call(), Some(0));
        assert!(readers.are_busy());
        let hang = |place: usize| {
            let since = Instant::now() - SLOW;
            readers.state.lock().readers[place] = Reader::Busy { since, was_slow: false };
        };
        for place in 1..READS_MAX {
            hang(place - 1);
            assert_eq!(readers.call(), Some(place));
        }
        hang(READS_MAX - 1);
        assert_eq!(readers.call(), None, "no more than these");
        readers.give_back(5);
        readers.go_on(3);
        assert_eq!(readers.call(), Some(5), "the one that goes on was slow before");
        readers.give_back(6);
        readers.go_on(3);
        assert_eq!(readers.call(), None, "one is quick");
    }

    #[test]
    fn a_chore_keeps_no_read_waiting_and_ends_no_pause() {
        let readers = Readers::new();
        assert_eq!(readers.call(), Some(0));
        readers.begin_chore(0);
        assert_eq!((readers.call(), readers.are_busy()), (Some(1), true));
        readers.give_back(1);
        (0..20).for_each(|_| readers.state.lock().pause.lengthen());
        readers.end_chore(0);
        assert!(readers.pause_is_long());
    }
}
