//! The host's one thread: writes hotness files, forgets tables whose files are gone, opens refused tables again when there is
//! room, sums up in a database's log how its tables were opened, yields memory when the machine needs it.
//!
//! Holds what it works on, never the [`Shared`](crate::elastic::Shared) that owns it: so it cannot be the one that drops the last
//! reference, and dropping the [`Keeper`] stops and joins it.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use springbloom_manager::Manager;

use crate::{
    budget_control::BudgetControl, databases::Databases, folders::Folders, handover::Handover,
    refused::RefusedTables, table_files::TableFiles,
};

/// How often tables are looked after: what deleted ones hold is missing elsewhere, and refused ones waste reads.
const TABLE_CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// What the thread works on.
pub(crate) struct Upkeep {
    pub(crate) manager: Arc<Manager>,
    pub(crate) files: Arc<TableFiles>,
    pub(crate) databases: Arc<Databases>,
    /// With how often it is written.
    pub(crate) folders: Option<(Arc<Folders>, Duration)>,
    pub(crate) budget: Arc<BudgetControl>,
    pub(crate) handover: Arc<Handover>,
    pub(crate) refused: Arc<RefusedTables>,
}

#[derive(Default)]
struct Stop {
    is_asked: Mutex<bool>,
    changed: Condvar,
}

/// Owns the thread.
pub(crate) struct Keeper {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(crate) fn start(upkeep: Upkeep) -> Self {
        let stop = Arc::new(Stop::default());
        let theirs = stop.clone();
        let thread = std::thread::Builder::new()
            .name("springbloom-keeper".into())
            .spawn(move || upkeep.run(&theirs))
            .inspect_err(|error| log::error!("no thread to look after filter files: {error}"));
        Self { stop, thread: thread.ok() }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        *self.stop.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic of it was reported by the panic hook
        }
    }
}

impl Stop {
    /// Sleeps; `true` when it is time to end.
    fn wait(&self, timeout: Duration) -> bool {
        let asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(asked, timeout, |asked| !*asked);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Something to do again and again.
struct Turn {
    interval: Duration,
    due: Instant,
}

impl Turn {
    fn every(interval: Duration) -> Self {
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

impl Upkeep {
    fn run(&self, stop: &Stop) {
        let mut check = Turn::every(TABLE_CHECK_INTERVAL);
        let mut save = self.folders.as_ref().map(|(_, interval)| Turn::every(*interval));
        let mut poll = self.budget.poll_interval().map(Turn::every);
        loop {
            let turns = [Some(&check), save.as_ref(), poll.as_ref()];
            let next = turns.into_iter().flatten().map(|turn| turn.due).min().unwrap_or(check.due);
            if stop.wait(next.saturating_duration_since(Instant::now())) {
                break;
            }
            if check.is_due() {
                self.files.forget_deleted();
                self.handover.expire();
                self.refused.retry(&self.manager);
                self.databases.sum_up_openings(self.manager.budget().budget_bytes());
            }
            if poll.as_mut().is_some_and(Turn::is_due) {
                self.budget.poll_pressure();
            }
            if save.as_mut().is_some_and(Turn::is_due) {
                self.save();
            }
        }
        self.save();
    }

    fn save(&self) {
        if let Some((folders, _)) = &self.folders {
            folders.save_all();
        }
    }
}
