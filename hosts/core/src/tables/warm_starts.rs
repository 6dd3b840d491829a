//! Warm starts: keeps the hotness file of each folder with tables.
//!
//! A table's identity in the file stays when a database is moved or copied ([`crate::identity`]), so that a copy starts warm too.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsStr,
    mem,
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use springbloom_format::{StoredHotness, StoredTable};
use springbloom_manager::{Lately, Manager, MemoryKind, SegmentUse, allocated_bytes};

use super::{databases::Database, table_files::TableFiles};
use crate::{
    engine::Engine,
    warm_start::{
        folder::{Folder, look_for_locks},
        hotness_file::to_stored,
    },
};

/// All folders that open databases have tables in.
pub(crate) struct WarmStarts {
    engine: &'static Engine,
    manager: Arc<Manager>,
    files: Arc<TableFiles>,
    /// By the database's number.
    folders: Mutex<HashMap<u64, Folders>>,
    /// Databases of which something is to be written. Holds no lock but for a moment: closing a database waits for it.
    changed: Mutex<BTreeSet<u64>>,
    lock_look: Mutex<()>,
}

/// Those of one database.
#[derive(Clone)]
struct Folders {
    database: Arc<Database>,
    folders: Vec<Arc<Folder>>,
}

impl WarmStarts {
    pub(crate) fn new(engine: &'static Engine, manager: Arc<Manager>, files: Arc<TableFiles>) -> Self {
        Self {
            engine,
            manager,
            files,
            folders: Mutex::default(),
            changed: Mutex::default(),
            lock_look: Mutex::default(),
        }
    }

    /// A reader of the database opens a table. Gives the folder, and the table's entry in its file. Gives neither for a file whose name is
    /// not that of a table.
    pub(crate) fn open(
        &self,
        database: &Arc<Database>,
        path: &[u8],
        stored_id: u128,
    ) -> (Option<Arc<Folder>>, Option<Vec<SegmentUse>>) {
        let Some((path, file_number)) = self.engine.folder_and_number(Path::new(OsStr::from_bytes(path)))
        else {
            return (None, None);
        };
        let folder = self.folder(database, path);
        let remembered = folder.take(&self.manager, stored_id, file_number);
        (Some(folder), remembered)
    }

    /// The database closes: writes its folders where something changed, and forgets them. Waits for no other database.
    pub(crate) fn close(&self, database: &Database) {
        let number = database.number();
        if database.is_for_writing() {
            self.manager.take_in_visits();
        }
        self.note_visits().remove(&number);
        self.save(number, true);
        self.folders.lock().remove(&number);
    }

    /// Writes the file of each folder where something changed. O(databases in which something changed).
    pub(crate) fn save_all(&self) {
        let changed = mem::take(&mut *self.note_visits());
        changed.into_iter().for_each(|database| self.save(database, false));
    }

    /// The database's folder has a table that its file does not tell of.
    pub(crate) fn note_new_table(&self, database: &Database, folder: &Folder) {
        if folder.has_file() {
            folder.note_change();
            self.changed.lock().insert(database.number());
        }
    }

    /// Notes which databases were looked up since the last call. Gives all of which something is to be written.
    fn note_visits(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        let mut changed = self.changed.lock();
        for scope in self.manager.take_visited() {
            let database = Database::number_of(scope);
            self.folders_of(database)
                .iter()
                .flat_map(|of| &of.folders)
                .for_each(|folder| folder.note_change());
            changed.insert(database);
        }
        changed
    }

    fn folders_of(&self, database: u64) -> Option<Folders> {
        self.folders.lock().get(&database).cloned()
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

    /// Writes the files of a database's folders. `is_last`: it closes.
    fn save(&self, database: u64, is_last: bool) {
        let Some(Folders { database, folders }) = self.folders_of(database) else { return };
        for folder in &folders {
            let may_write = || database.is_for_writing() && self.is_lock_held(folder);
            let collect = |waiting| self.collect(&database, folder, waiting, is_last);
            folder.save(&self.manager, is_last, may_write, collect);
        }
    }

    /// Finds out for each folder that may be written whether its lock file is held. Done soon after a database is opened, since it looks at
    /// all open files, and a database that closes would wait for it.
    pub(crate) fn look_for_locks(&self) {
        let _one_looks_for_all = self.lock_look.lock();
        let all = self.folders.lock();
        let for_writing = all.values().filter(|of| of.database.is_for_writing());
        let folders = for_writing.flat_map(|of| &of.folders);
        let unknown: Vec<_> = folders.filter(|folder| folder.is_lock_held().is_none()).cloned().collect();
        drop(all);
        if !unknown.is_empty() {
            look_for_locks(self.engine, &unknown);
        }
    }

    fn is_lock_held(&self, folder: &Folder) -> bool {
        if folder.is_lock_held().is_none() {
            self.look_for_locks();
        }
        folder.is_lock_held() == Some(true)
    }

    /// Visits of a lookup that visited any segment. `None` before the first one.
    fn visits_per_lookup_of(&self, database: &Database) -> Option<f64> {
        let lookups = database.lookups();
        (lookups > 0).then(|| self.manager.counts_of(database.scopes()).visits() as f64 / lookups as f64)
    }

    fn collect(
        &self,
        database: &Database,
        folder: &Folder,
        waiting: Vec<StoredTable>,
        is_last: bool,
    ) -> StoredHotness {
        let Lately { visits, wasted_reads, absences } = self.manager.lately();
        let in_65536ths = |share: f64| (share * 65_536.0) as u16; // saturates
        let mut stored = StoredHotness {
            budget_bytes: self.manager.budget().budget_bytes() as u64,
            // An upper bound: other folders may share the budget.
            bookkeeping_bytes: self.manager.budget().used_bytes_of(MemoryKind::Bookkeeping) as u64,
            visits_per_lookup: self.visits_per_lookup_of(database).unwrap_or(0.0) as f32,
            known_absent_65536ths: in_65536ths(absences.caught),
            known_by_smaller_65536ths: absences.caught_by_smaller.map(in_65536ths),
            negative_cache_bytes: absences.bytes,
            late_visits: visits as f32,
            late_wasted_reads: wasted_reads as f32,
            tables: waiting,
        };
        let tables = self.files.in_folder(database, folder);
        if is_last {
            // Bytes of the readers that closed just now: the next start needs them again.
            stored.bookkeeping_bytes += (tables.len() * allocated_bytes(self.engine.reader_bytes)) as u64;
        }
        for (file, uses) in tables {
            stored.tables.push(StoredTable {
                id: file.stored_id(),
                file_number: file.number(),
                segments: uses.into_iter().map(to_stored).collect(),
            });
        }
        stored
    }
}
