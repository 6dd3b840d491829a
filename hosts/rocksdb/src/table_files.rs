//! Which files the known tables lie in, so that the state of deleted ones is forgotten.
//!
//! RocksDB marks the reader of a table that it is about to delete, and that of every table of a database that it closes, alike and
//! before the file is gone; a reader that the table cache had closed before is not marked. So closed tables are looked up in the file system.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use springbloom_manager::{Manager, TableId};
use xxhash_rust::xxh3::xxh3_64;

use crate::source::FileSource;

/// Files looked up in one go: enough to keep pace with deletions, few enough not to be felt.
const CHECKED_AT_ONCE: usize = 256;

/// How long a table that RocksDB has no more use for is kept while its file exists: a database that closes is done by then, and
/// RocksDB may leave the file for much longer.
const SUSPECT_LINGER: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct TableFiles {
    files: Mutex<HashMap<TableId, KnownFile>>,
    /// Where among the closed tables the next look begins: most of them are closed because the table cache is small, and
    /// must not hide the deleted ones behind them.
    next_look: AtomicUsize,
}

struct KnownFile {
    file: Arc<FileSource>,
    /// Two databases of one process may have the same file open: a primary and its secondary, a reader twice.
    open_readers: usize,
    /// Of its path.
    path_hash: u64,
    /// Since when RocksDB has no more use for the file.
    suspect_since: Option<Instant>,
}

impl TableFiles {
    /// A reader is about to open the table.
    pub(crate) fn open(&self, id: TableId, path: &[u8], file: Arc<FileSource>) {
        let mut files = self.lock();
        let known = files.entry(id).or_insert_with(|| KnownFile {
            file: file.clone(),
            open_readers: 0,
            path_hash: xxh3_64(path),
            suspect_since: None,
        });
        known.file = file;
        known.suspect_since = None;
        known.open_readers += 1;
    }

    /// A reader let go of the table.
    pub(crate) fn close(&self, id: TableId) {
        if let Some(known) = self.lock().get_mut(&id) {
            known.open_readers -= 1;
        }
    }

    /// The table's file may be about to be deleted.
    pub(crate) fn suspect(&self, id: TableId) {
        if let Some(known) = self.lock().get_mut(&id) {
            known.suspect_since = Some(Instant::now());
        }
    }

    /// The table at `path` moved to another level as it is. O(known tables): moves are few beside lookups.
    pub(crate) fn set_level(&self, path: &[u8], level: Option<u8>, manager: &Manager) {
        let path_hash = xxh3_64(path);
        let files = self.lock();
        let at_path = files.iter().filter(|(_, known)| known.path_hash == path_hash);
        let moved: Vec<_> = at_path.map(|(id, _)| *id).collect();
        drop(files);
        for id in moved {
            manager.set_level(id, level);
        }
    }

    /// Forgets a table that no reader has open.
    pub(crate) fn forget(&self, id: TableId, manager: &Manager) {
        let mut files = self.lock();
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
            let files = self.lock();
            let suspects =
                files.iter().filter(|(_, known)| known.suspect_since.is_some() && known.open_readers == 0);
            let closed = closed.iter().cycle().skip(first).take(looked_at);
            let closed = closed.filter_map(|id| files.get_key_value(id));
            suspects.chain(closed).map(|(id, known)| (*id, known.file.clone(), known.suspect_since)).collect()
        };
        for (id, file, suspect_since) in candidates {
            let is_stale = suspect_since.is_some_and(|since| since.elapsed() > SUSPECT_LINGER);
            if is_stale || !file.exists() {
                self.forget(id, manager);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TableId, KnownFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
