//! Group commit: one of several threads commits for all threads that had appended before.

use parking_lot::{Condvar, Mutex};

/// Elects the thread that commits.
#[derive(Default)]
pub struct GroupCommit {
    is_taken: Mutex<bool>,
    ended: Condvar,
}

/// The right to commit. Dropping it wakes the other threads.
pub struct CommitGuard<'a> {
    group: &'a GroupCommit,
}

impl GroupCommit {
    /// Waits for the right to commit. Returns `None` once `is_done` says that another thread's commit covers this one. Every commit wakes
    /// all waiting threads. With a lock they would wake one by one, each after a sync of its own.
    pub fn lead(&self, is_done: impl Fn() -> bool) -> Option<CommitGuard<'_>> {
        let mut is_taken = self.is_taken.lock();
        loop {
            if is_done() {
                return None;
            }
            if !*is_taken {
                *is_taken = true;
                return Some(CommitGuard { group: self });
            }
            self.ended.wait(&mut is_taken);
        }
    }
}

impl Drop for CommitGuard<'_> {
    fn drop(&mut self) {
        *self.group.is_taken.lock() = false;
        self.group.ended.notify_all();
    }
}
