//! Known tables: how they are written, opened and read, where they lie, and when they are forgotten.

pub(crate) mod builder_memory;
pub(crate) mod databases;
pub(crate) mod open_table;
mod table_files;
mod table_life;
mod table_location;
pub(crate) mod unit_builder;
pub(crate) mod warm_starts;

use std::sync::{Arc, atomic::AtomicU64};

use springbloom_manager::Manager;

use self::{
    builder_memory::BuilderMemory,
    databases::{ColumnFamily, Databases},
    table_files::TableFiles,
    warm_starts::WarmStarts,
};
use crate::engine::Engine;

/// What is known of the tables that share one budget.
pub(crate) struct Tables {
    pub(crate) engine: &'static Engine,
    pub(crate) manager: Arc<Manager>,
    pub(crate) databases: Databases,
    pub(crate) builder_memory: BuilderMemory,
    /// `None`: there are no warm starts.
    pub(crate) warm_starts: Option<WarmStarts>,
    pub(crate) files: Arc<TableFiles>,
    /// Tables without filter units that were opened so far.
    pub(crate) without_units: AtomicU64,
    /// Tables that were written without units by databases into whose options filters were installed.
    pub(crate) written_without_units: AtomicU64,
    /// Rejected keys that were looked up all the same, and those that were there.
    pub(crate) verified: AtomicU64,
    pub(crate) wrong_rejections: AtomicU64,
}

impl Tables {
    pub(crate) fn new(
        engine: &'static Engine,
        manager: Arc<Manager>,
        has_warm_starts: bool,
        reader_bytes: usize,
    ) -> Self {
        let files = Arc::new(TableFiles::new(manager.clone()));
        Self {
            engine,
            databases: Databases::default(),
            builder_memory: BuilderMemory::default(),
            warm_starts: has_warm_starts
                .then(|| WarmStarts::new(engine, manager.clone(), files.clone(), reader_bytes)),
            files,
            manager,
            without_units: AtomicU64::new(0),
            written_without_units: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            wrong_rejections: AtomicU64::new(0),
        }
    }

    /// No table of the column family is open any more. With the database's last one, no file of it is accessed from here on. `may_wait`:
    /// nor is one being accessed when this returns.
    pub(crate) fn close_column_family(&self, family: &ColumnFamily, may_wait: bool) {
        self.databases.hand_out(self.manager.notices());
        if !self.databases.leave(family) {
            return;
        }
        let database = &family.database;
        database.tell();
        match &self.warm_starts {
            Some(warm_starts) => warm_starts.close(database, may_wait),
            None => {
                self.files.forget_database(database);
                database.files().close(may_wait);
            }
        }
    }
}
