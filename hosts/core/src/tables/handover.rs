//! Hand-over: first units go from a table's builder to its reader in memory, without a read.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use springbloom_manager::{Manager, Reservation};

use crate::engine::FileAccess;

/// How many tables may wait to be opened. An engine opens tables when their flush or compaction is done.
const WAITING_TABLES_MAX: usize = 64;

/// A table that waits longer is looked up in the file system: files of an aborted compaction are deleted.
const FILE_CHECK_AGE: Duration = Duration::from_secs(2);

/// No table waits longer, even if its file exists. Compactions take less, but files of one that a close interrupted stay until the next
/// opening.
const WAITING_AGE_MAX: Duration = Duration::from_secs(600);

/// Unit 0 of each segment of a table.
pub(crate) type FirstUnits = Vec<Option<Vec<u8>>>;

#[derive(Debug, Default)]
pub(crate) struct Handover {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Number of pauses under way: nothing may wait.
    paused: u32,
}

#[derive(Debug)]
struct Waiting {
    path: Vec<u8>,
    files: Arc<FileAccess>,
    since: Instant,
    /// Tells this table from another one with the same path: after a restart, file numbers of aborted compactions are used again.
    stored_id: u128,
    units: FirstUnits,
    _reservation: Reservation,
}

impl Handover {
    /// Keeps the first units of a finished block, if the plan leaves room for them.
    pub(crate) fn offer(
        &self,
        manager: &Manager,
        path: &[u8],
        stored_id: u128,
        files: FileAccess,
        units: FirstUnits,
    ) {
        let unit_bytes: usize = units.iter().flatten().map(Vec::len).sum();
        let Some(reservation) = manager.reserve_for_hand_over(path.len() + unit_bytes) else { return };
        let mut state = self.state.lock();
        if state.paused > 0 {
            return;
        }
        if state.waiting.len() == WAITING_TABLES_MAX {
            state.waiting.pop_front();
        }
        state.waiting.push_back(Waiting {
            path: path.to_vec(),
            files: Arc::new(files),
            since: Instant::now(),
            stored_id,
            units,
            _reservation: reservation,
        });
    }

    /// The units of the table at `path`, if it is the one that was offered.
    pub(crate) fn take(&self, path: &[u8], stored_id: u128) -> Option<FirstUnits> {
        let waiting = &mut self.state.lock().waiting;
        let position = waiting.iter().position(|offer| offer.path == path && offer.stored_id == stored_id)?;
        waiting.remove(position).map(|offer| offer.units)
    }

    /// Frees the units of tables that nobody will open.
    pub(crate) fn expire(&self) {
        let old: Vec<_> = {
            let waiting = &mut self.state.lock().waiting;
            waiting.retain(|offer| offer.since.elapsed() < WAITING_AGE_MAX);
            let old = waiting.iter().filter(|offer| offer.since.elapsed() >= FILE_CHECK_AGE);
            old.map(|offer| (offer.files.clone(), offer.path.clone())).collect()
        };
        // Without the lock: builders and readers wait for it, and files are looked up here.
        let gone: Vec<_> = old.into_iter().filter(|(files, path)| !files.exists(path)).collect();
        self.state
            .lock()
            .waiting
            .retain(|offer| !gone.iter().any(|(files, _)| Arc::ptr_eq(files, &offer.files)));
    }

    /// Frees all waiting units and runs `run`, with none waiting meanwhile: they would hold memory that the manager cannot free. Tables
    /// that are written meanwhile have no hand-over.
    pub(crate) fn without_any<T>(&self, run: impl FnOnce() -> T) -> T {
        {
            let mut state = self.state.lock();
            state.paused += 1;
            state.waiting.clear();
        }
        let _resume = Resume(self);
        run()
    }
}

/// Ends a pause, also after a panic.
struct Resume<'a>(&'a Handover);

impl Drop for Resume<'_> {
    fn drop(&mut self) {
        self.0.state.lock().paused -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn tables_are_opened_while_a_budget_moves() {
        let handover = Handover::default();
        let (done, is_done) = mpsc::channel();
        std::thread::scope(|scope| {
            handover.without_any(|| {
                scope.spawn(|| done.send(handover.take(b"/db/000007.sst", 7)));
                let taken = is_done.recv_timeout(Duration::from_secs(20));
                assert_eq!(taken, Ok(None), "the reader waits for the budget");
            });
        });
        assert_eq!(handover.state.lock().paused, 0);
    }
}
