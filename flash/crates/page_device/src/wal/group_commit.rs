//! Group commit: one of several threads commits for all threads that had appended before.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Condvar, Mutex};

/// Elects the thread that commits, and knows how much is durable.
#[derive(Default)]
pub struct GroupCommit {
    is_taken: Mutex<bool>,
    ended: Condvar,
    durable: AtomicU64,
}

/// The right to commit. Dropping it wakes the other threads.
pub struct CommitGuard<'a> {
    group: &'a GroupCommit,
}

impl GroupCommit {
    /// Waits for the right to commit. Returns `None` once another thread has made the first `appended` things durable. Every commit wakes
    /// all waiting threads. With a lock they would wake one by one, each after a sync of its own.
    pub fn lead(&self, appended: u64) -> Option<CommitGuard<'_>> {
        let mut is_taken = self.is_taken.lock();
        loop {
            if self.durable.load(Ordering::Acquire) >= appended {
                return None;
            }
            if !*is_taken {
                *is_taken = true;
                return Some(CommitGuard { group: self });
            }
            self.ended.wait(&mut is_taken);
        }
    }

    /// The first `appended` things are durable.
    pub fn mark_durable(&self, appended: u64) {
        self.durable.fetch_max(appended, Ordering::AcqRel);
    }
}

impl Drop for CommitGuard<'_> {
    fn drop(&mut self) {
        *self.group.is_taken.lock() = false;
        self.group.ended.notify_all();
    }
}
