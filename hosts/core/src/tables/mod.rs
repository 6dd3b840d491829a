//! Known tables: how they are written, opened and read, where they lie, and when they are forgotten.

pub(crate) mod databases;
pub(crate) mod files_by_slot;
pub(crate) mod open_table;
mod table_files;
mod table_life;
mod table_location;
pub(crate) mod unit_builder;
mod warm_starts;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize},
    },
    time::Instant,
};

use parking_lot::Mutex;
use springbloom_manager::{Manager, TableId};

use self::{
    databases::{ColumnFamily, Database, Databases},
    files_by_slot::FilesBySlot,
    table_location::TableLocation,
};
use crate::engine::Engine;

/// A database and the folders with its tables.
type Located = (Arc<Database>, Vec<Arc<TableLocation>>);

/// What is known of the tables that share one budget.
pub(crate) struct Tables {
    pub(crate) engine: &'static Engine,
    pub(crate) manager: Arc<Manager>,
    pub(crate) databases: Databases,
    /// That tables take which are being written.
    pub(crate) builder_bytes: Arc<AtomicU64>,
    /// Of the thread that looks after them.
    pub(crate) panics: AtomicU64,
    has_warm_starts: bool,
    files_by_slot: Arc<FilesBySlot>,
    /// One for each folder with tables, by the number of the open database. Locked for a moment: closing a database waits for it.
    locations: Mutex<HashMap<u64, Located>>,
    /// Obsolete tables, and since when. Their files are about to be deleted.
    obsolete: Mutex<HashMap<TableId, Instant>>,
    /// Where among the closed tables the next look for deleted ones begins. Most are closed because the table cache is small, and must not
    /// hide those.
    next_look: AtomicUsize,
}

impl Tables {
    pub(crate) fn new(engine: &'static Engine, manager: Arc<Manager>, has_warm_starts: bool) -> Self {
        Self {
            engine,
            manager,
            has_warm_starts,
            databases: Databases::default(),
            builder_bytes: Arc::default(),
            panics: AtomicU64::new(0),
            files_by_slot: Arc::default(),
            locations: Mutex::default(),
            obsolete: Mutex::default(),
            next_look: AtomicUsize::new(0),
        }
    }

    /// No table of the column family is open any more. With the database's last one, no file of it is accessed from here on. `may_wait`:
    /// nor is one being accessed when this returns, and its log was told all lines.
    pub(crate) fn close_column_family(&self, family: &ColumnFamily, may_wait: bool) {
        self.databases.hand_out(self.manager.notices());
        if !self.databases.leave(family) {
            return;
        }
        if may_wait {
            family.database.tell();
        }
        self.close_database(&family.database, may_wait);
    }
}
