//! First units on their way from the builder of a table to the reader that opens it, without a detour over the disk.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use springbloom_manager::{MemoryBudget, MemoryKind, Reservation};

use crate::ffi::FileAccess;

/// Tables that may wait to be opened. RocksDB opens a table when its flush or compaction is done; more than these wait only
/// for a compaction that writes more.
const WAITING_TABLES_MAX: usize = 64;

/// How long a table may wait before it is asked whether its file is still there: that of an aborted compaction is deleted.
const FILE_CHECK_AGE: Duration = Duration::from_secs(2);

/// How long a table may wait in any case: longer than compactions take, and the files of a database that was closed in the
/// middle of one stay until it is opened again.
const WAITING_AGE_MAX: Duration = Duration::from_secs(600);

/// Unit 0 of each segment of a table.
pub(crate) type FirstUnits = Vec<Option<Vec<u8>>>;

#[derive(Debug, Default)]
pub(crate) struct Handover {
    waiting: Mutex<VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    path: Vec<u8>,
    files: Arc<FileAccess>,
    since: Instant,
    /// Tells this table from another one written to the same path: numbers of aborted compactions come again after a restart.
    stored_id: u128,
    units: FirstUnits,
    _reservation: Reservation,
}

impl Handover {
    /// Keeps the first units of a finished block, if the budget has room for them.
    pub(crate) fn offer(
        &self,
        budget: &MemoryBudget,
        path: &[u8],
        stored_id: u128,
        files: FileAccess,
        units: FirstUnits,
    ) {
        let mut waiting = self.lock();
        let unit_bytes: usize = units.iter().flatten().map(Vec::len).sum();
        let Some(reservation) = budget.try_reserve(MemoryKind::Loading, path.len() + unit_bytes) else {
            return;
        };
        if waiting.len() == WAITING_TABLES_MAX {
            waiting.pop_front();
        }
        waiting.push_back(Waiting {
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
        let mut waiting = self.lock();
        let position = waiting.iter().position(|offer| offer.path == path && offer.stored_id == stored_id)?;
        waiting.remove(position).map(|offer| offer.units)
    }

    /// Lets go of tables that nobody will open.
    pub(crate) fn expire(&self) {
        let old: Vec<_> = {
            let mut waiting = self.lock();
            waiting.retain(|offer| offer.since.elapsed() < WAITING_AGE_MAX);
            let old = waiting.iter().filter(|offer| offer.since.elapsed() >= FILE_CHECK_AGE);
            old.map(|offer| (offer.files.clone(), offer.path.clone())).collect()
        };
        // Without the lock, which builders and readers wait for.
        let gone: Vec<_> = old.into_iter().filter(|(files, path)| !files.exists(path)).collect();
        self.lock().retain(|offer| !gone.iter().any(|(files, _)| Arc::ptr_eq(files, &offer.files)));
    }

    /// Runs `run` while nothing waits: what waits holds memory that the manager cannot free.
    pub(crate) fn without_any<T>(&self, run: impl FnOnce() -> T) -> T {
        let mut waiting = self.lock();
        waiting.clear();
        run()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
