//! The host's thread: has hotness files written, forgets tables whose files are gone, follows the block cache, and has other threads open
//! deferred tables when there is room. It touches no file: those of one database that hangs would keep all others waiting.
//!
//! It never holds the `Filters` that own it, so it cannot drop the last reference to them. Dropping the
//! [`Maintenance`] stops and joins it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use springbloom_manager::JoinedThread;

use crate::{
    budget::budget_control::BudgetControl,
    tables::{Tables, deferred::TRIES_MAX},
};

/// How often deleted and deferred tables are looked for. Deleted ones hold memory, and deferred ones waste reads.
const TABLE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// What the thread works on.
pub(crate) struct Tasks {
    pub(crate) tables: Arc<Tables>,
    /// How often hotness is saved, if it is.
    pub(crate) save_every: Option<Duration>,
    pub(crate) budget: Arc<BudgetControl>,
    pub(crate) panics: Arc<AtomicU64>,
}

/// Asks the thread to end. The thread parks: were it queued at a condition variable, a child of `fork` would have it in the queue, and not
/// the stack that its place in the queue lies on.
#[derive(Default)]
struct Stop {
    is_asked: AtomicBool,
}

/// Owns the thread.
pub(crate) struct Maintenance {
    stop: Arc<Stop>,
    /// Joined after `drop` told it to end.
    thread: Option<JoinedThread>,
}

impl Maintenance {
    pub(crate) fn start(tasks: Tasks) -> Self {
        let (stop, tasks) = (Arc::new(Stop::default()), Arc::new(tasks));
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
            self.stop.is_asked.store(true, Ordering::Release);
            thread.thread().unpark();
        }
    }
}

impl Stop {
    /// Sleeps at most that long. `true`: end now.
    fn wait(&self, timeout: Duration) -> bool {
        if !self.is_asked.load(Ordering::Acquire) {
            thread::park_timeout(timeout);
        }
        self.is_asked.load(Ordering::Acquire)
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
    fn run(self: &Arc<Self>, stop: &Stop) {
        let tables = &*self.tables;
        let mut tries = Vec::new();
        let mut check = Timer::every(TABLE_CHECK_INTERVAL);
        let mut save = self.save_every.map(Timer::every);
        self.budget.wake_this_thread();
        loop {
            let timers = [Some(&check), save.as_ref()];
            let next = timers.into_iter().flatten().map(|timer| timer.due);
            let next = next.chain(self.budget.next_look()).min().unwrap_or(check.due);
            if stop.wait(next.saturating_duration_since(Instant::now())) {
                break;
            }
            if self.budget.next_look().is_some_and(|due| Instant::now() >= due) {
                self.contained(|| self.budget.look_at_cache());
            }
            if check.is_due() {
                self.contained(|| tables.files.forget_deleted());
                if let Some(warm_starts) = &tables.warm_starts {
                    self.contained(|| warm_starts.look_for_locks());
                }
                self.contained(|| tables.databases.tell_in_background(&tables.manager));
                // Without a budget there is no room, and no table need be read to learn it.
                if tables.manager.budget().budget_bytes() > 0 {
                    self.try_deferred(&mut tries);
                }
            }
            if save.as_mut().is_some_and(Timer::is_due)
                && let Some(warm_starts) = &tables.warm_starts
            {
                self.contained(|| warm_starts.save_all());
            }
        }
    }

    /// Has a thread try deferred tables, if there are any. Nothing else waits for it: its reads may hang.
    fn try_deferred(self: &Arc<Self>, threads: &mut Vec<JoinedThread>) {
        threads.retain(|thread| !thread.has_ended());
        // A try may hang, so that each check begins another one.
        if threads.len() == TRIES_MAX || !self.tables.deferred.has_due() {
            return;
        }
        let tasks = self.clone();
        let retry = move || tasks.contained(|| tasks.tables.deferred.retry());
        // Without a thread to give, the system is short of more than filters: the next check tries again.
        threads.extend(JoinedThread::spawn("springbloom-tables", retry));
    }

    /// Runs one task. A panic is a bug in that task: it is counted, and the other tasks go on.
    fn contained(&self, task: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(task)).is_err() {
            self.panics.fetch_add(1, Ordering::Relaxed);
            self.tables.manager.notices().warn("the filter maintenance thread panicked and goes on".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        engine::test_engine::TEST_ENGINE,
        instance::Filters,
        settings::Settings,
        tables::deferred::{DeferredFamily, RetryResult},
    };

    /// A column family whose first retry panics.
    struct PanicsOnce(Arc<AtomicU64>);

    impl DeferredFamily for PanicsOnce {
        fn retry(&self) -> RetryResult {
            assert!(self.0.fetch_add(1, Ordering::SeqCst) > 0, "a panic that the test expects");
            RetryResult::NoneLeft
        }
    }

    #[test]
    fn a_task_that_panics_is_counted_and_done_again() {
        let elastic = Filters::start(Settings::default(), &TEST_ENGINE).unwrap();
        let retries = Arc::new(AtomicU64::new(0));
        elastic.tables.deferred.add(1, Box::new(PanicsOnce(retries.clone())));
        let begun = Instant::now();
        while retries.load(Ordering::SeqCst) < 2 {
            assert!(begun.elapsed() < Duration::from_secs(20), "the thread ended with the panic");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(elastic.stats().thread_panics, 1);
        assert!(elastic.metrics_text().contains("springbloom_thread_panics_total 1\n"));
    }

    /// A column family whose only table cannot be read until the test says so.
    #[derive(Default)]
    struct Hangs {
        is_tried: AtomicBool,
        is_over: Arc<AtomicBool>,
    }

    impl DeferredFamily for Hangs {
        fn retry(&self) -> RetryResult {
            if self.is_tried.swap(true, Ordering::SeqCst) {
                return RetryResult::Busy;
            }
            while !self.is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            RetryResult::Opened
        }
    }

    #[test]
    fn a_table_that_hangs_keeps_no_other_waiting() {
        let elastic = Filters::start(Settings::default(), &TEST_ENGINE).unwrap();
        let (deferred, hangs, retries) =
            (&elastic.tables.deferred, Hangs::default(), Arc::new(AtomicU64::new(1)));
        let is_over = hangs.is_over.clone();
        deferred.add(1, Box::new(hangs));
        let wait_until = |is_so: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while !is_so() && begun.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(10));
            }
            is_so()
        };
        let fails = wait_until(&|| deferred.counts() == (0, 1));
        deferred.add(2, Box::new(PanicsOnce(retries.clone())));
        let is_tried = wait_until(&|| retries.load(Ordering::SeqCst) > 1);
        is_over.store(true, Ordering::SeqCst);
        assert!(fails && is_tried);
        assert!(wait_until(&|| deferred.counts() == (1, 0)), "it fails no more");
    }

    #[test]
    fn an_interval_may_be_longer_than_the_clock_goes_and_no_time_at_all() {
        assert!(!Timer::every(Duration::MAX).is_due());
        assert!(Timer::every(Duration::ZERO).interval > Duration::ZERO);
    }
}
