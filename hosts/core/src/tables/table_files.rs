//! Finds known tables whose files were deleted, so that their state is forgotten.
//!
//! An engine marks the reader of a table before it deletes the file. A reader that the table cache closed before is not marked. So closed
//! tables of open databases are looked up in the file system, by the threads that touch files. The manager knows the tables; this file
//! keeps what it does not know.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use springbloom_manager::{Activity, KnownTable, Manager, SegmentUse, TableId, UnitSource};

use super::{
    databases::{Database, Once},
    table_location::{TableFile, TableLocation},
};
use crate::warm_start::folder::Folder;

/// Files looked up at a time: enough to keep pace with deletions, and too few to disturb.
const CHECKED_AT_ONCE: usize = 256;

/// An obsolete table is forgotten after this time, even if its file exists: an engine may delete the file much later.
const OBSOLETE_LINGER: Duration = Duration::from_secs(5);

pub(crate) struct TableFiles {
    manager: Arc<Manager>,
    /// One for each folder with tables.
    locations: Mutex<Vec<Weak<TableLocation>>>,
    /// Obsolete tables, and since when. Their files are about to be deleted.
    obsolete: Mutex<HashMap<TableId, Instant>>,
    /// Where among the closed tables the next look begins. Most are closed because the table cache is small, and must not hide deleted
    /// ones.
    next_look: AtomicUsize,
}

/// A table whose file is looked for.
type Candidate = (TableId, Arc<dyn UnitSource>, TableFile);
/// By the number of their database.
type Candidates = HashMap<u64, (Arc<Database>, Vec<Candidate>)>;

/// Where a known table lies.
fn location_and_file(table: KnownTable<'_>) -> Option<(&TableLocation, TableFile)> {
    Some((TableLocation::of_source(table.source)?, TableFile::of_locator(table.locator)?))
}

/// Use of a table, for the hotness file of its folder.
pub(crate) struct TableUse {
    pub(crate) folder: Arc<Folder>,
    pub(crate) stored_id: u64,
    pub(crate) file: TableFile,
    pub(crate) segments: Vec<SegmentUse>,
}

impl TableUse {
    /// `None` for a table that no hotness file tells of.
    fn of(table: KnownTable<'_>, segments: Vec<SegmentUse>) -> Option<Self> {
        let (place, file) = location_and_file(table)?;
        let stored_id = place.stored_id_of(&file, table.id);
        Some(Self { folder: place.folder()?.clone(), stored_id, file, segments })
    }
}

/// Use of a database's tables.
pub(crate) struct DatabaseUse {
    pub(crate) tables: Vec<TableUse>,
    pub(crate) activity: Activity,
}

impl DatabaseUse {
    /// The tables in one of its folders.
    pub(crate) fn of(&self, folder: &Folder) -> impl Iterator<Item = &TableUse> {
        self.tables.iter().filter(move |table| std::ptr::eq(&*table.folder, folder))
    }
}

impl TableFiles {
    pub(crate) fn new(manager: Arc<Manager>) -> Self {
        Self {
            manager,
            locations: Mutex::default(),
            obsolete: Mutex::default(),
            next_look: AtomicUsize::new(0),
        }
    }

    /// The location that all tables of the folder share.
    pub(crate) fn shared_location(&self, place: TableLocation) -> Arc<TableLocation> {
        let mut locations = self.locations.lock();
        locations.retain(|known| known.strong_count() > 0);
        if let Some(known) = locations.iter().filter_map(Weak::upgrade).find(|known| known.is_same(&place)) {
            return known;
        }
        let place = Arc::new(place);
        locations.push(Arc::downgrade(&place));
        place
    }

    /// The table's file may be about to be deleted.
    pub(crate) fn mark_obsolete(&self, id: TableId) {
        self.obsolete.lock().insert(id, Instant::now());
    }

    /// A reader opens the table, so it is not obsolete.
    pub(crate) fn unmark(&self, id: TableId) {
        self.obsolete.lock().remove(&id);
    }

    /// The known tables of a database, and their use. O(segments of the database's tables).
    pub(crate) fn use_of(&self, database: &Database) -> DatabaseUse {
        let mut tables = Vec::new();
        let activity = self.manager.visit_uses(database.scopes(), |table, uses| {
            tables.extend(TableUse::of(table, uses));
        });
        DatabaseUse { tables, activity }
    }

    /// The database is closed: forgets its tables. Gives their use, and whether they were visited since it was saved. O(segments of these
    /// tables).
    pub(crate) fn forget_database(&self, database: &Database) -> (DatabaseUse, bool) {
        let mut tables = Vec::new();
        let forgotten = self.manager.forget_scopes(database.scopes(), |table, uses| {
            tables.extend(TableUse::of(table, uses));
        });
        let mut obsolete = self.obsolete.lock();
        forgotten.tables.iter().for_each(|id| _ = obsolete.remove(id));
        (DatabaseUse { tables, activity: forgotten.activity }, forgotten.is_visited)
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

    /// Forgets a table that no reader has open.
    pub(crate) fn forget(&self, id: TableId) {
        self.manager.forget_closed(id);
        self.drop_unknown(id);
    }

    /// Drops marks of tables that are not known any more.
    fn drop_unknown(&self, id: TableId) {
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
                            .entry(place.database().number())
                            .or_insert_with(|| (place.database().clone(), Vec::new()));
                        of_database.push((table.id, table.source.clone(), file));
                    }
                }
            }
            closed += 1;
        });
        let next = if looked_at.end < closed { looked_at.end } else { 0 };
        self.next_look.store(next, Ordering::Relaxed);
        stale.into_iter().for_each(|id| self.forget(id));
        for (database, tables) in candidates.into_values() {
            self.look_for(&database, tables);
        }
        // Some were forgotten otherwise.
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
