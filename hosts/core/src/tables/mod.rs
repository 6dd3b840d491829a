//! Known tables: how they are written, opened and read, where they lie, and when they are forgotten.

pub(crate) mod databases;
pub(crate) mod open_files;
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
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};

use parking_lot::Mutex;
use springbloom_manager::{Manager, TableId};

use self::{
    databases::{ColumnFamily, Database, Databases},
    open_files::OpenFiles,
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
    has_warm_starts: bool,
    open_files: Arc<OpenFiles>,
    /// One for each folder with tables, by the number of the open database. Locked for a moment: closing a database waits for it.
    locations: Mutex<HashMap<u64, Located>>,
    /// Obsolete tables, and since when. Their files are about to be deleted.
    obsolete: Mutex<HashMap<TableId, Instant>>,
    /// Where among the closed tables the next look for deleted ones begins. Most are closed because the table cache is small, and must not
    /// hide those.
    next_look: AtomicUsize,
    /// By [`Counted`].
    counts: [AtomicU64; 4],
}

/// What an engine's adapter counts, as the header names it.
#[repr(C)]
#[derive(Clone, Copy)]
#[expect(dead_code, reason = "the adapter makes them")]
pub(crate) enum Counted {
    /// Tables without filter units that were opened.
    WithoutUnits,
    /// Tables that were written without units by databases into whose options filters were installed.
    WrittenWithoutUnits,
    /// Rejected keys that were looked up all the same.
    Verified,
    /// Of them, those that were there.
    WrongRejections,
    /// Blocks that lookups read because no cache had them. The manager has the count.
    BlockReads,
    /// Tables that iterators opened without asking units. The budget has the count.
    SoughtTables,
}

impl Tables {
    pub(crate) fn new(engine: &'static Engine, manager: Arc<Manager>, has_warm_starts: bool) -> Self {
        Self {
            engine,
            manager,
            has_warm_starts,
            databases: Databases::default(),
            builder_bytes: Arc::default(),
            open_files: Arc::default(),
            locations: Mutex::default(),
            obsolete: Mutex::default(),
            next_look: AtomicUsize::new(0),
            counts: Default::default(),
        }
    }

    pub(crate) fn count(&self, what: Counted, times: u64) {
        self.counts.get(what as usize).into_iter().for_each(|count| _ = count.fetch_add(times, Relaxed));
    }

    /// By the first four of [`Counted`].
    pub(crate) fn counts(&self) -> [u64; 4] {
        self.counts.each_ref().map(|count| count.load(Relaxed))
    }

    /// No table of the column family is open any more. With the database's last one, no file of it is accessed from here on. `may_wait`:
    /// nor is one being accessed when this returns, and its log was told all lines.
    pub(crate) fn close_column_family(&self, family: &ColumnFamily, may_wait: bool) {
        self.databases.hand_out(self.manager.notices());
        if !self.databases.leave(family) {
            return;
        }
        let database = &family.database;
        if may_wait {
            database.tell();
        }
        self.close_database(database, may_wait);
    }
}
