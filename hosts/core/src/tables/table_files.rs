//! Finds known tables whose files were deleted, so that their state is forgotten.
//!
//! An engine marks the reader of a table before it deletes the file. A reader that the table cache closed before is not marked. So closed
//! tables of open databases are looked up in the file system, by the threads that touch files. The manager knows the tables; this file
//! keeps what it does not know.

use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use springbloom_manager::{KnownTable, TableId, UnitSource};

use super::{
    Tables,
    databases::{Database, Once},
    table_location::{TableFile, TableLocation},
};
use crate::warm_start::folder::Folder;

/// Files looked up at a time: enough to keep pace with deletions, and too few to disturb.
const CHECKED_AT_ONCE: usize = 256;

/// An obsolete table is forgotten after this time, even if its file exists: an engine may delete the file much later.
const OBSOLETE_LINGER: Duration = Duration::from_secs(5);

/// A table whose file is looked for.
type Candidate = (TableId, Arc<dyn UnitSource>, TableFile);
/// By the number of their database.
type Candidates = HashMap<u64, (Arc<Database>, Vec<Candidate>)>;

/// Where a known table lies.
pub(super) fn location_and_file(table: KnownTable<'_>) -> Option<(&TableLocation, TableFile)> {
    Some((TableLocation::of_source(table.source)?, TableFile::of_locator(table.locator)?))
}

impl Tables {
    /// The location that all tables of the database in the folder at `path` share; `None` once the database is closed.
    pub(super) fn location(&self, database: &Arc<Database>, path: &Path) -> Option<Arc<TableLocation>> {
        let mut locations = self.locations.lock();
        if !database.files.is_open() {
            return None;
        }
        let new = || (database.clone(), Vec::new());
        let (_, of_database) = locations.entry(database.number).or_insert_with(new);
        if let Some(known) = of_database.iter().find(|known| known.path == path) {
            return Some(known.clone());
        }
        let folder = self.has_warm_starts.then(|| Arc::new(Folder::new(self.engine, path)));
        let files_by_slot = self.files_by_slot.clone();
        let new = Arc::new(TableLocation::new(self.engine, database.clone(), path, folder, files_by_slot));
        of_database.push(new.clone());
        Some(new)
    }

    /// The table's file may be about to be deleted.
    pub(crate) fn mark_obsolete(&self, id: TableId) {
        self.obsolete.lock().insert(id, Instant::now());
    }

    /// A reader opens the table, so it is not obsolete.
    pub(crate) fn unmark(&self, id: TableId) {
        self.obsolete.lock().remove(&id);
    }

    /// The table at `path` moved to another level unchanged. O(known tables): moves are rare.
    pub(crate) fn set_level(&self, path: &Path, level: Option<u8>) {
        let mut moved = Vec::new();
        self.manager.visit_tables(|table| {
            let is_it = location_and_file(table).is_some_and(|(place, file)| place.is_at(&file, path));
            moved.extend(is_it.then_some(table.id));
        });
        for id in moved {
            self.manager.set_level(id, level);
        }
    }

    /// Drops the mark of a table that is not known any more.
    pub(super) fn drop_unknown(&self, id: TableId) {
        if !self.manager.knows(id) {
            self.unmark(id);
        }
    }

    /// Has closed tables forgotten whose files are gone: looks for those of all obsolete tables and of some others. Touches no file itself.
    pub(crate) fn forget_deleted(&self) {
        let obsolete = self.obsolete.lock().clone();
        let first = self.next_look.load(Ordering::Relaxed);
        let looked_at = first..first.saturating_add(CHECKED_AT_ONCE);
        let (mut candidates, mut stale, mut closed) = (Candidates::new(), Vec::new(), 0);
        self.manager.visit_tables(|table| {
            if table.is_open {
                return;
            }
            match obsolete.get(&table.id) {
                Some(since) if since.elapsed() > OBSOLETE_LINGER => stale.push(table.id),
                None if !looked_at.contains(&closed) => (),
                _ => {
                    if let Some((place, file)) = location_and_file(table) {
                        let (_, of_database) = candidates
                            .entry(place.database.number)
                            .or_insert_with(|| (place.database.clone(), Vec::new()));
                        of_database.push((table.id, table.source.clone(), file));
                    }
                }
            }
            closed += 1;
        });
        let next = if looked_at.end < closed { looked_at.end } else { 0 };
        self.next_look.store(next, Ordering::Relaxed);
        stale.into_iter().for_each(|id| self.manager.forget_closed(id));
        for (database, tables) in candidates.into_values() {
            self.look_for(&database, tables);
        }
        obsolete.into_keys().for_each(|id| self.drop_unknown(id));
    }

    /// Has it found out whether these tables of a database have files, unless others are being looked for.
    fn look_for(&self, database: &Arc<Database>, tables: Vec<Candidate>) {
        // The manager has the chore.
        let manager = Arc::downgrade(&self.manager);
        database.run_once(&self.manager, Once::Checking, move |_| {
            for (id, source, file) in tables {
                if !TableLocation::of_source(&source).is_some_and(|place| place.has(&file)) {
                    manager.upgrade().into_iter().for_each(|manager| manager.forget_closed(id));
                }
            }
        });
    }
}
