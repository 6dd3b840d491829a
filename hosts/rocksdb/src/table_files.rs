//! Which files the known tables lie in, so that the state of deleted ones is forgotten.
//!
//! RocksDB marks the reader of a table that it is about to delete, and that of every table of a database that it closes, alike and
//! before the file is gone; a reader that the table cache had closed before is not marked. So closed tables are looked up in the file system.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use springbloom_manager::{Manager, TableId};

use crate::{
    folders::Folder,
    source::{Place, TableFile},
};

/// Files looked up in one go: enough to keep pace with deletions, few enough not to be felt.
const CHECKED_AT_ONCE: usize = 256;

/// How long a table that RocksDB has no more use for is kept while its file exists: a database that closes is done by then, and
/// RocksDB may leave the file for much longer.
const SUSPECT_LINGER: Duration = Duration::from_secs(5);

pub(crate) struct TableFiles {
    known: Mutex<Known>,
    /// Where among the closed tables the next look begins: most of them are closed because the table cache is small, and
    /// must not hide the deleted ones behind them.
    next_look: AtomicUsize,
    started_at: Instant,
}

#[derive(Default)]
struct Known {
    /// A tree rather than a hash table: it takes the memory that its tables need, and gives it back.
    files: BTreeMap<TableId, KnownFile>,
    /// Few.
    places: Vec<Weak<Place>>,
}

struct KnownFile {
    file: Arc<TableFile>,
    /// Two databases of one process may have the same file open: a primary and its secondary, a reader twice.
    open_readers: u32,
    suspected: Option<Moment>,
}

/// Since when RocksDB has no more use for a file: in seconds since the start, from 1.
#[derive(Clone, Copy)]
struct Moment(NonZeroU32);

impl Moment {
    fn since(self, earlier: Self) -> Duration {
        Duration::from_secs(self.0.get().saturating_sub(earlier.0.get()).into())
    }
}

impl TableFiles {
    /// Bytes per table in the tree, whose leaves have places for 11 tables and are filled to two thirds on average.
    pub(crate) const TABLE_BYTES: usize = (size_of::<TableId>() + size_of::<KnownFile>() + 2) * 3 / 2;

    pub(crate) fn new() -> Self {
        Self { known: Mutex::default(), next_look: AtomicUsize::new(0), started_at: Instant::now() }
    }

    /// The one place that all its tables share.
    pub(crate) fn shared_place(&self, place: Place) -> Arc<Place> {
        let places = &mut self.lock().places;
        places.retain(|known| known.strong_count() > 0);
        if let Some(known) = places.iter().filter_map(Weak::upgrade).find(|known| known.is_same(&place)) {
            return known;
        }
        let place = Arc::new(place);
        places.push(Arc::downgrade(&place));
        place
    }

    /// A reader is about to open the table; whether it was not known.
    pub(crate) fn open(&self, id: TableId, file: Arc<TableFile>) -> bool {
        let files = &mut self.lock().files;
        let open_readers = files.get(&id).map_or(0, |known| known.open_readers) + 1;
        files.insert(id, KnownFile { file, open_readers, suspected: None }).is_none()
    }

    /// A reader let go of the table; `obsolete`: its file may be about to be deleted.
    pub(crate) fn close(&self, id: TableId, obsolete: bool) -> Option<Arc<TableFile>> {
        let suspected = obsolete.then(|| self.now());
        let mut known = self.lock();
        let known = known.files.get_mut(&id)?;
        known.open_readers -= 1;
        known.suspected = suspected.or(known.suspected);
        Some(known.file.clone())
    }

    /// The known tables that a folder remembers. O(known tables).
    pub(crate) fn in_folder(&self, folder: &Folder) -> Vec<(TableId, Arc<TableFile>)> {
        let known = self.lock();
        let is_in = |file: &TableFile| file.folder().is_some_and(|of_file| std::ptr::eq(&**of_file, folder));
        let in_folder = known.files.iter().filter(|(_, known)| is_in(&known.file));
        in_folder.map(|(id, known)| (*id, known.file.clone())).collect()
    }

    /// The table at `path` moved to another level as it is. O(known tables): moves are few beside lookups.
    pub(crate) fn set_level(&self, path: &[u8], level: Option<u8>, manager: &Manager) {
        let known = self.lock();
        let at_path = known.files.iter().filter(|(_, known)| known.file.is_at(path));
        let moved: Vec<_> = at_path.map(|(id, _)| *id).collect();
        drop(known);
        for id in moved {
            manager.set_level(id, level);
        }
    }

    /// Forgets a table that no reader has open.
    pub(crate) fn forget(&self, id: TableId, manager: &Manager) {
        let files = &mut self.lock().files;
        if files.get(&id).is_some_and(|known| known.open_readers == 0) {
            files.remove(&id);
            // Under the lock, so that a reader that opens the table now is not forgotten with it.
            manager.forget(id);
        }
    }

    /// Forgets closed tables whose files are gone: all that are suspected, and some of the others.
    pub(crate) fn forget_deleted(&self, manager: &Manager) {
        let closed = manager.closed_tables();
        let looked_at = CHECKED_AT_ONCE.min(closed.len());
        let first = self.next_look.fetch_add(looked_at, Ordering::Relaxed) % closed.len().max(1);
        let candidates: Vec<_> = {
            let files = &self.lock().files;
            let suspects =
                files.iter().filter(|(_, known)| known.suspected.is_some() && known.open_readers == 0);
            let closed = closed.iter().cycle().skip(first).take(looked_at);
            let closed = closed.filter_map(|id| files.get_key_value(id));
            suspects.chain(closed).map(|(id, known)| (*id, known.file.clone(), known.suspected)).collect()
        };
        let now = self.now();
        for (id, file, suspected) in candidates {
            let is_stale = suspected.is_some_and(|since| now.since(since) > SUSPECT_LINGER);
            if is_stale || !file.exists() {
                self.forget(id, manager);
            }
        }
    }

    fn now(&self) -> Moment {
        let seconds = self.started_at.elapsed().as_secs();
        Moment(NonZeroU32::MIN.saturating_add(u32::try_from(seconds).unwrap_or(u32::MAX)))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
