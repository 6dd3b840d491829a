//! Threads that read units. The background thread makes no read, and another thread helps where all of them take long: a read that hangs
//! delays nothing but its own table.

use std::thread::Thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::load_pause::LoadPause;
use crate::load_unit::Progress;
use crate::registry::READS_MAX;

/// Where each thread has been at its read for so long, another one reads, too: a slow device serves several reads in the time of one.
const SLOW: Duration = Duration::from_millis(1);
/// After so long without work a thread ends.
const LINGER: Duration = Duration::from_millis(200);

/// The place of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    None,
    Idle,
    /// At its read since then.
    Busy(Instant),
}

struct State {
    readers: [Reader; READS_MAX],
    pause: LoadPause,
    are_stopped: bool,
}

/// The threads that read units.
pub(super) struct Readers {
    state: Mutex<State>,
    changed: Condvar,
}

impl Readers {
    pub(super) fn new() -> Self {
        let state =
            State { readers: [Reader::None; READS_MAX], pause: LoadPause::default(), are_stopped: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// There is something to read. Wakes a thread, if those at work take long; `Some`: start one for this place.
    pub(super) fn call(&self) -> Option<usize> {
        let mut state = self.state.lock();
        let is_quick = |reader: &Reader| matches!(reader, Reader::Busy(since) if since.elapsed() < SLOW);
        if !state.pause.left().is_zero() || state.readers.iter().any(is_quick) {
            return None;
        }
        let place_of = |wanted| state.readers.iter().position(|reader| *reader == wanted);
        let idle = place_of(Reader::Idle);
        let place = idle.or_else(|| place_of(Reader::None))?;
        state.readers[place] = Reader::Busy(Instant::now());
        if idle.is_some() {
            self.changed.notify_all();
            return None;
        }
        Some(place)
    }

    /// The thread made a read, and makes the next one.
    pub(super) fn go_on(&self, place: usize) {
        let mut state = self.state.lock();
        state.pause.end();
        state.readers[place] = Reader::Busy(Instant::now());
    }

    /// The thread has no read to make. Tells `background`, and returns whether it was called again; otherwise it ends.
    pub(super) fn rest(&self, place: usize, end: Progress, background: &Thread) -> bool {
        let mut state = self.state.lock();
        match end {
            Progress::Blocked => state.pause.lengthen(),
            Progress::Loaded | Progress::Idle => state.pause.end(),
        }
        state.readers[place] = Reader::Idle;
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

    /// Whether a read is under way.
    pub(super) fn are_busy(&self) -> bool {
        self.state.lock().readers.iter().any(|reader| matches!(reader, Reader::Busy(_)))
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
    use super::super::load_pause::NAP_MAX;
    use super::*;

    #[test]
    fn another_thread_is_called_where_reads_take_long() {
        let readers = Readers::new();
        assert_eq!(readers.call(), Some(0));
        assert!(readers.are_busy());
        let hang = |place: usize| {
            readers.state.lock().readers[place] = Reader::Busy(Instant::now() - SLOW);
        };
        for place in 1..READS_MAX {
            hang(place - 1);
            assert_eq!(readers.call(), Some(place));
        }
        hang(READS_MAX - 1);
        assert_eq!(readers.call(), None, "no more than these");
        readers.go_on(3);
        readers.give_back(5);
        assert_eq!(readers.call(), None, "one is quick");
        hang(3);
        assert_eq!(readers.call(), Some(5));
    }

    #[test]
    fn nobody_is_called_in_a_pause() {
        let readers = Readers::new();
        let begun = Instant::now();
        (0..20).for_each(|_| readers.state.lock().pause.lengthen());
        let called = readers.call();
        assert!(called.is_none() || begun.elapsed() >= NAP_MAX);
        std::thread::sleep(NAP_MAX);
        assert_eq!(readers.call(), Some(0));
    }
}
