//! Databases that are open, by what table readers tell of them.
//!
//! RocksDB does not say when a database closes. But it opens a database's tables through that database's table cache, destroys every
//! reader of it before `Close` returns, and keeps the reader that it used last: so a database is open as long as one of its column
//! families has a table open. When the last one is closed, everything that is known of its tables is forgotten, and nobody touches its files
//! any more.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use springbloom_manager::ScopeId;

use crate::{elastic::Shared, ffi::FileAccess};

/// Tells databases and column families of the process apart.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// A database while it is open.
#[derive(Debug)]
pub(crate) struct Database {
    number: u64,
    /// RocksDB's name for this opening of the database.
    session: Vec<u8>,
    is_for_writing: AtomicBool,
    files: FileAccess,
}

/// A column family of a database, while one of its tables is open.
pub(crate) struct Family {
    pub(crate) database: Arc<Database>,
    /// Its own: only keys that one comparator ordered are compared with each other.
    pub(crate) scope: ScopeId,
}

/// The databases that share one budget.
#[derive(Default)]
pub(crate) struct Databases {
    open: Mutex<HashMap<Vec<u8>, Open>>,
}

struct Open {
    database: Arc<Database>,
    families: usize,
}

impl Database {
    /// Different for every opening of any database.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether it may have been opened to write: a database that is opened to read alone never has this.
    pub(crate) fn is_for_writing(&self) -> bool {
        self.is_for_writing.load(Ordering::Relaxed)
    }

    /// How its files are opened. Once the database is closed, no file exists for it.
    pub(crate) fn files(&self) -> &FileAccess {
        &self.files
    }
}

impl Databases {
    /// A column family of the database with that session has its first table open.
    pub(crate) fn open(&self, session: &[u8], is_for_writing: bool, files: FileAccess) -> Family {
        let next = || NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut open = self.lock();
        let Open { database, families } = open.entry(session.to_vec()).or_insert_with(|| Open {
            database: Arc::new(Database {
                number: next(),
                session: session.to_vec(),
                is_for_writing: AtomicBool::new(false),
                files,
            }),
            families: 0,
        });
        *families += 1;
        database.is_for_writing.fetch_or(is_for_writing, Ordering::Relaxed);
        Family { database: database.clone(), scope: ScopeId(next()) }
    }

    /// How the files of the database with that session are opened; where none is open, no file exists.
    pub(crate) fn files_of(&self, session: &[u8]) -> FileAccess {
        self.lock().get(session).map_or_else(FileAccess::none, |open| open.database.files.clone())
    }

    /// One column family less; whether it was the database's last.
    fn leave(&self, database: &Database) -> bool {
        let mut open = self.lock();
        let Some(entry) = open.get_mut(&database.session) else { return false };
        entry.families -= 1;
        if entry.families > 0 {
            return false;
        }
        open.remove(&database.session);
        true
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Family {
    /// No table of the column family is open any more.
    pub(crate) fn close(self, shared: &Shared) {
        if !shared.databases.leave(&self.database) {
            return;
        }
        if let Some(folders) = &shared.folders {
            folders.close(&self.database);
        }
        self.database.files.close();
        shared.files.forget_database(&self.database);
    }
}
