//! The host's thread: has hotness files written, forgets tables whose files are gone, and follows the block caches. It touches no file:
//! those of one database that hangs would keep all others waiting.
//!
//! It never holds the `Filters` that own it, so it cannot drop the last reference to them. Dropping the
//! [`Maintenance`] stops and joins it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use springbloom_manager::JoinedThread;

use crate::{budget::budget_control::BudgetControl, tables::Tables};

/// How often deleted tables are looked for. They hold memory.
const TABLE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// What the thread works on.
pub(crate) struct Tasks {
    pub(crate) tables: Arc<Tables>,
    /// How often hotness is saved, if it is.
    pub(crate) save_every: Option<Duration>,
    pub(crate) budget: Arc<BudgetControl>,
}

/// Owns the thread.
pub(crate) struct Maintenance {
    /// Asks the thread to end. The thread parks: were it queued at a condition variable, a child of `fork` would have it in the queue, and
    /// not the stack that its place in the queue lies on.
    stop: Arc<AtomicBool>,
    /// Joined after `drop` told it to end.
    thread: Option<JoinedThread>,
}

impl Maintenance {
    pub(crate) fn start(tasks: Tasks) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = stop.clone();
        let notices = tasks.tables.manager.notices().clone();
        let thread = JoinedThread::spawn("springbloom-maintenance", move || tasks.run(&theirs))
            .inspect_err(|error| notices.warn(format!("no thread to look after filter files: {error}")));
        Self { stop, thread: thread.ok() }
    }
}

impl Drop for Maintenance {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.as_ref().filter(|thread| thread.is_here()) {
            self.stop.store(true, Ordering::Release);
            thread.thread().unpark();
        }
    }
}

/// Limits of an interval. An interval of 0 would take a whole core, and one of centuries would overflow the clock.
const INTERVALS: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(1 << 30));

/// When a task is due again.
struct Timer {
    interval: Duration,
    due: Instant,
}

impl Timer {
    fn every(interval: Duration) -> Self {
        let interval = interval.clamp(INTERVALS.0, INTERVALS.1);
        Self { interval, due: Instant::now() + interval }
    }

    fn is_due(&mut self) -> bool {
        let is_due = Instant::now() >= self.due;
        if is_due {
            self.due = Instant::now() + self.interval;
        }
        is_due
    }
}

impl Tasks {
    fn run(&self, stop: &AtomicBool) {
        let tables = &*self.tables;
        let mut check = Timer::every(TABLE_CHECK_INTERVAL);
        let mut save = Timer::every(self.save_every.unwrap_or(Duration::MAX));
        self.budget.caches.alarm.wake_this_thread();
        loop {
            let due = check.due.min(save.due);
            let due = self.budget.next_look().map_or(due, |look| look.min(due));
            if !stop.load(Ordering::Acquire) {
                thread::park_timeout(due.saturating_duration_since(Instant::now()));
            }
            if stop.load(Ordering::Acquire) {
                break;
            }
            if self.budget.next_look().is_some_and(|due| Instant::now() >= due) {
                self.contained(|| self.budget.look_at_caches(tables.databases.row_cache_bytes()));
            }
            if check.is_due() {
                self.contained(|| tables.forget_deleted());
                self.contained(|| tables.look_for_locks());
                self.contained(|| tables.databases.tell_in_background(&tables.manager));
            }
            if save.is_due() {
                self.contained(|| tables.save_all());
            }
        }
    }

    /// Runs one task. A panic is a bug in that task: it is counted, and the other tasks go on.
    fn contained(&self, task: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            self.tables.panics.fetch_add(1, Ordering::Relaxed);
            self.tables.manager.notices().warn("the filter maintenance thread panicked and continues".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_may_be_longer_than_the_clock_goes_and_no_time_at_all() {
        assert!(!Timer::every(Duration::MAX).is_due());
        assert!(Timer::every(Duration::ZERO).interval > Duration::ZERO);
    }
}
