//! First units on their way from the builder of a table to the reader that opens it, without a detour over the disk.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use springbloom_format::Directory;
use springbloom_manager::{MemoryBudget, MemoryKind, Reservation};

/// Tables that may wait to be opened. RocksDB opens a table right after it is written; more than these wait only when
/// something went wrong with them.
const WAITING_TABLES_MAX: usize = 64;

/// Unit 0 of each segment of a table.
pub(crate) type FirstUnits = Vec<Option<Vec<u8>>>;

#[derive(Debug, Default)]
pub(crate) struct Handover {
    waiting: Mutex<VecDeque<Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    path: Vec<u8>,
    /// Header and directory: what tells this table from another one written to the same path.
    head: Vec<u8>,
    units: FirstUnits,
    _reservation: Reservation,
}

impl Handover {
    /// Keeps the first units of a finished block, if the budget has room for them.
    pub(crate) fn offer(&self, budget: &MemoryBudget, path: &[u8], head: &[u8], row: &[u8]) {
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
