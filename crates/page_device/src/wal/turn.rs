//! Group commit: of the threads that want to commit, one does it for all that had appended before it began.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Whether some thread is committing, and who waits for it.
#[derive(Default)]
pub struct CommitTurn {
    is_taken: Mutex<bool>,
    ended: Condvar,
}

/// The right to commit; the others are woken when it is dropped.
pub struct Turn<'a> {
    turn: &'a CommitTurn,
}

impl CommitTurn {
    /// Waits until `is_done` says that somebody else's commit covers this one (`None`), or it is this thread's turn. All
    /// waiting threads look again after every commit: a lock would wake them one by one, each after a sync of its own.
    pub fn take(&self, is_done: impl Fn() -> bool) -> Option<Turn<'_>> {
        let mut is_taken = self.lock();
        loop {
            if is_done() {
                return None;
            }
            if !*is_taken {
                *is_taken = true;
                return Some(Turn { turn: self });
            }
            is_taken = self.ended.wait(is_taken).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.turn.lock() = false;
        self.turn.ended.notify_all();
    }
}
