//! Warm starts: keeps the hotness file of each folder with tables.
//!
//! A table's identity in the file stays when a database is moved or copied ([`crate::identity`]), so that a copy starts warm too.

use std::{cell::LazyCell, collections::HashMap, path::Path, sync::Arc};

use parking_lot::Mutex;
use springbloom_format::{StoredHotness, StoredTable};
use springbloom_manager::{Activity, Lately, Manager, MemoryKind, SegmentUse};

use super::{
    databases::{Database, Once},
    table_files::{DatabaseUse, TableFiles, TableUse},
};
use crate::{
    engine::Engine,
    warm_start::{folder::Folder, hotness_file::to_stored},
};

/// All folders that open databases have tables in.
pub(crate) struct WarmStarts {
    engine: &'static Engine,
    manager: Arc<Manager>,
    files: Arc<TableFiles>,
    /// Of an open table, which the budget pays for.
    reader_bytes: usize,
    /// By the database's number. Locked for a moment: closing a database waits for it.
    folders: Mutex<HashMap<u64, Folders>>,
}

/// Those of one database.
#[derive(Clone)]
struct Folders {
    database: Arc<Database>,
    folders: Vec<Arc<Folder>>,
}

impl WarmStarts {
    pub(crate) fn new(
        engine: &'static Engine,
        manager: Arc<Manager>,
        files: Arc<TableFiles>,
        reader_bytes: usize,
    ) -> Self {
        Self { engine, manager, files, reader_bytes, folders: Mutex::default() }
    }

    /// A reader of the database opens a table in the folder at `path`. Gives the folder, and the table's entry in its file.
    pub(crate) fn open(
        &self,
        database: &Arc<Database>,
        path: &Path,
        stored_id: u64,
        file_number: u64,
    ) -> (Arc<Folder>, Option<Vec<SegmentUse>>) {
        let folder = self.folder(database, path);
        let remembered = folder.take(&self.manager, stored_id, file_number);
        (folder, remembered)
    }

    /// The database closes: forgets its tables, ends the accesses to its files, and writes its folders where something changed, unless it
    /// may not wait. Waits for no other database.
    pub(crate) fn close(&self, database: &Database, may_wait: bool) {
        // The next start needs the bytes of these tables and their readers again.
        let bookkeeping_bytes = self.bookkeeping_bytes();
        let (known, is_visited) = self.files.forget_database(database);
        // Waits until visits that `save_all` has found before are noted.
        let folders = self.folders.lock().remove(&database.number()).map_or_else(Vec::new, |of| of.folders);
        // No save begins after this. If it may wait, none is under way either.
        database.files().close(may_wait);
        for folder in &folders {
            if is_visited {
                folder.note_change();
            }
            if database.is_for_writing() && may_wait {
                folder.save_last(self.manager.notices(), || {
                    let mut stored = self.to_stored(database, folder, &known, bookkeeping_bytes);
                    stored.bookkeeping_bytes += (known.of(folder).count() * self.reader_bytes) as u64;
                    stored
                });
            }
        }
    }

    /// Has the file of each folder written where something changed. O(open databases). Touches no file itself.
    pub(crate) fn save_all(&self) {
        let all: Vec<_> = {
            let all = self.folders.lock();
            for scope in self.manager.take_visited() {
                let visited = all.get(&Database::number_of(scope));
                visited.iter().flat_map(|of| &of.folders).for_each(|folder| folder.note_change());
            }
            all.values().filter(|of| of.database.is_for_writing()).cloned().collect()
        };
        all.iter().for_each(|of| self.save(of));
    }

    fn folder(&self, database: &Arc<Database>, path: &Path) -> Arc<Folder> {
        let mut all = self.folders.lock();
        let new = || Folders { database: database.clone(), folders: Vec::new() };
        let Folders { folders, .. } = all.entry(database.number()).or_insert_with(new);
        if let Some(known) = folders.iter().find(|folder| folder.path() == path) {
            return known.clone();
        }
        let new = Arc::new(Folder::new(self.engine, path));
        folders.push(new.clone());
        new
    }

    /// Has the files of a database's folders written.
    fn save(&self, Folders { database, folders }: &Folders) {
        // Of all folders, if one is written.
        let known = LazyCell::new(|| self.files.use_of(database));
        for folder in folders.iter().filter(|folder| folder.known_lock() != Some(false)) {
            if folder.begin_save() {
                let stored = self.to_stored(database, folder, &known, self.bookkeeping_bytes());
                let (folder, notices) = (folder.clone(), self.manager.notices().clone());
                database.run(&self.manager, move |_| folder.save(&notices, stored));
            }
        }
    }

    /// Has it found out for each folder that may be written whether its lock file is held. A close would look through all open files, and
    /// closing many stores through many times as many.
    pub(crate) fn look_for_locks(&self) {
        let is_sought = |of: &&Folders| {
            of.database.is_for_writing() && of.folders.iter().any(|folder| folder.known_lock().is_none())
        };
        let sought: Vec<_> = self.folders.lock().values().filter(is_sought).cloned().collect();
        for Folders { database, folders } in sought {
            let seek = move |_: &Database| folders.iter().for_each(|folder| _ = folder.is_lock_held());
            database.run_once(&self.manager, Once::SeekingLocks, seek);
        }
    }

    /// Whether a file is about to be written.
    #[cfg(test)]
    pub(crate) fn is_saving(&self) -> bool {
        self.folders.lock().values().flat_map(|of| &of.folders).any(|folder| folder.is_saving())
    }

    /// An upper bound for a folder: others may share the budget.
    fn bookkeeping_bytes(&self) -> u64 {
        self.manager.budget().used_bytes_of(MemoryKind::Bookkeeping) as u64
    }

    fn to_stored(
        &self,
        database: &Database,
        folder: &Folder,
        known: &DatabaseUse,
        bookkeeping_bytes: u64,
    ) -> StoredHotness {
        let Activity { counts, lately: Lately { visits, wasted_reads } } = known.activity;
        let lookups = database.lookups();
        let visits_per_lookup = if lookups > 0 { counts.visits() as f64 / lookups as f64 } else { 0.0 };
        let tables = known.of(folder).map(|TableUse { stored_id, file, segments, .. }| StoredTable {
            id: *stored_id,
            file_number: file.number(),
            segments: segments.iter().copied().map(to_stored).collect(),
        });
        StoredHotness {
            budget_bytes: self.manager.budget().budget_bytes() as u64,
            bookkeeping_bytes,
            visits_per_lookup: visits_per_lookup as f32,
            late_visits: visits as f32,
            late_wasted_reads: wasted_reads as f32,
            tables: tables.collect(),
        }
    }
}
