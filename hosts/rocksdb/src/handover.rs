//! First units on their way from the builder of a table to the reader that opens it, without a detour over the disk.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use springbloom_format::Directory;
use springbloom_manager::{MemoryBudget, MemoryKind, Reservation};

use crate::ffi::BlockFile;

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
    file: Arc<BlockFile>,
    since: Instant,
    /// Header and directory: what tells this table from another one written to the same path.
    head: Vec<u8>,
    units: FirstUnits,
    _reservation: Reservation,
}

impl Handover {
    /// Keeps the first units of a finished block, if the budget has room for them.
    pub(crate) fn offer(&self, budget: &MemoryBudget, path: &[u8], file: BlockFile, head: &[u8], row: &[u8]) {
        let Ok(directory) = Directory::parse(head) else { return };
        let mut waiting = self.lock();
        let Some(reservation) = budget.try_reserve(MemoryKind::Loading, path.len() + head.len() + row.len())
        else {
            return;
        };
        let units = directory.decode_row(0, row).map(|(_, unit)| unit.ok().map(<[u8]>::to_vec)).collect();
        if waiting.len() == WAITING_TABLES_MAX {
            waiting.pop_front();
        }
        waiting.push_back(Waiting {
            path: path.to_vec(),
            file: Arc::new(file),
            since: Instant::now(),
            head: head.to_vec(),
            units,
            _reservation: reservation,
        });
    }

    /// The units of the table at `path`, if it is the one that was offered. `head`: its block's header and directory.
    pub(crate) fn take(&self, path: &[u8], head: &[u8]) -> Option<FirstUnits> {
        let mut waiting = self.lock();
        let position = waiting.iter().position(|offer| offer.path == path && offer.head == head)?;
        waiting.remove(position).map(|offer| offer.units)
    }

    /// Lets go of tables that nobody will open.
    pub(crate) fn expire(&self) {
        let old: Vec<_> = {
            let mut waiting = self.lock();
            waiting.retain(|offer| offer.since.elapsed() < WAITING_AGE_MAX);
            let old = waiting.iter().filter(|offer| offer.since.elapsed() >= FILE_CHECK_AGE);
            old.map(|offer| offer.file.clone()).collect()
        };
        // Without the lock, which builders and readers wait for.
        let gone: Vec<_> = old.into_iter().filter(|file| !file.exists()).collect();
        self.lock().retain(|offer| !gone.iter().any(|file| Arc::ptr_eq(file, &offer.file)));
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
