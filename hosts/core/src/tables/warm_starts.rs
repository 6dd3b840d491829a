//! Warm starts: keeps the hotness file of each folder with tables.
//!
//! A table's identity in the file stays when a database is moved or copied ([`crate::identity`]), so that a copy starts warm too.

use std::{
    cell::LazyCell,
    sync::{Arc, atomic::Ordering},
};

use springbloom_format::{StoredHotness, StoredTable};
use springbloom_manager::{Activity, KnownTable, Lately, MemoryKind, SegmentUse};

use super::{
    Located, Tables,
    databases::{Database, Once},
    table_files::location_and_file,
    table_location::TableLocation,
};
use crate::warm_start::{folder::Folder, hotness_file::to_stored};

/// Use of a database's tables that hotness files tell of.
struct DatabaseUse {
    tables: Vec<(Arc<Folder>, StoredTable)>,
    activity: Activity,
}

/// The use of a table, for the hotness file of its folder; `None` if there is none.
fn table_use(table: KnownTable<'_>, segments: Vec<SegmentUse>) -> Option<(Arc<Folder>, StoredTable)> {
    let (place, file) = location_and_file(table)?;
    let folder = place.folder.clone()?;
    let segments = segments.into_iter().map(to_stored).collect();
    let id = place.stored_id_of(&file, table.id);
    Some((folder, StoredTable { id, file_number: file.number, segments }))
}

fn folders(locations: &[Arc<TableLocation>]) -> impl Iterator<Item = &Arc<Folder>> {
    locations.iter().filter_map(|place| place.folder.as_ref())
}

impl Tables {
    /// The database closes: forgets its tables, ends the accesses to its files, and writes its folders where something changed, unless it
    /// may not wait. Waits for no other database.
    pub(super) fn close_database(&self, database: &Database, may_wait: bool) {
        // The next start needs the bytes of these tables and their readers again.
        let bookkeeping_bytes = self.bookkeeping_bytes();
        let mut tables = Vec::new();
        let take = |table: KnownTable<'_>, segments| tables.extend(table_use(table, segments));
        let forgotten = self.manager.forget_scopes(database.scopes(), take);
        let known = DatabaseUse { tables, activity: forgotten.activity };
        forgotten.tables.into_iter().for_each(|id| self.unmark(id));
        // No save writes after this, unless it is under way; if it may wait, none is.
        database.files.close(may_wait);
        // Waits until visits that `save_all` has found before are noted.
        let of_database = self.locations.lock().remove(&database.number);
        for folder in of_database.iter().flat_map(|(_, locations)| folders(locations)) {
            if forgotten.is_visited {
                folder.note_change();
            }
            if database.is_for_writing() && may_wait {
                folder.save_last(self.manager.notices(), || {
                    let mut stored = self.to_stored(database, folder, &known, bookkeeping_bytes);
                    stored.bookkeeping_bytes += (stored.tables.len() * self.engine.reader_bytes) as u64;
                    stored
                });
            }
        }
    }

    /// Has the file of each folder written where something changed. O(open databases). Touches no file itself.
    pub(crate) fn save_all(&self) {
        let all: Vec<_> = {
            let all = self.locations.lock();
            for scope in self.manager.take_visited() {
                let visited = all.get(&Database::number_of(scope));
                visited
                    .iter()
                    .flat_map(|(_, locations)| folders(locations))
                    .for_each(|folder| folder.note_change());
            }
            all.values().filter(|(database, _)| database.is_for_writing()).cloned().collect()
        };
        for (database, locations) in all {
            // Of all folders, if one is written.
            let known = LazyCell::new(|| self.use_of(&database));
            for folder in folders(&locations).filter(|folder| folder.known_lock() != Some(false)) {
                if folder.begin_save() {
                    let stored = self.to_stored(&database, folder, &known, self.bookkeeping_bytes());
                    let (folder, notices) = (folder.clone(), self.manager.notices().clone());
                    database.run(&self.manager, move |_| folder.save(&notices, stored));
                }
            }
        }
    }

    /// Has it found out for each folder that may be written whether its lock file is held. A close would look through all open files, and
    /// closing many stores through many times as many.
    pub(crate) fn look_for_locks(&self) {
        let sought: Vec<_> = {
            let all = self.locations.lock();
            let is_sought = |(database, locations): &&Located| {
                database.is_for_writing() && folders(locations).any(|folder| folder.known_lock().is_none())
            };
            all.values().filter(is_sought).cloned().collect()
        };
        for (database, locations) in sought {
            let seek = move |_: &Database| folders(&locations).for_each(|folder| _ = folder.is_lock_held());
            database.run_once(&self.manager, Once::SeekingLocks, seek);
        }
    }

    /// Whether a file is about to be written.
    #[cfg(test)]
    pub(crate) fn is_saving(&self) -> bool {
        self.locations
            .lock()
            .values()
            .flat_map(|(_, locations)| folders(locations))
            .any(|folder| folder.is_saving())
    }

    /// An upper bound for a folder: others may share the budget.
    fn bookkeeping_bytes(&self) -> u64 {
        self.manager.budget().used_bytes_of(MemoryKind::Bookkeeping) as u64
    }

    /// O(segments of the database's tables).
    fn use_of(&self, database: &Database) -> DatabaseUse {
        let mut tables = Vec::new();
        let take = |table: KnownTable<'_>, segments| tables.extend(table_use(table, segments));
        let activity = self.manager.visit_uses(database.scopes(), take);
        DatabaseUse { tables, activity }
    }

    fn to_stored(
        &self,
        database: &Database,
        folder: &Arc<Folder>,
        known: &DatabaseUse,
        bookkeeping_bytes: u64,
    ) -> StoredHotness {
        let Activity { counts, lately: Lately { visits, wasted_reads } } = known.activity;
        let lookups = database.lookups.load(Ordering::Relaxed);
        let visits_per_lookup = if lookups > 0 { counts.visits() as f64 / lookups as f64 } else { 0.0 };
        let tables = known.tables.iter().filter(|(of, _)| Arc::ptr_eq(of, folder));
        StoredHotness {
            budget_bytes: self.manager.budget().budget_bytes() as u64,
            bookkeeping_bytes,
            visits_per_lookup: visits_per_lookup as f32,
            late_visits: visits as f32,
            late_wasted_reads: wasted_reads as f32,
            tables: tables.map(|(_, table)| table.clone()).collect(),
        }
    }
}
