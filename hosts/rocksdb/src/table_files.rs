//! Which files the known tables lie in, so that the state of deleted ones is forgotten.
//!
//! Most tables say themselves that they are obsolete when RocksDB drops their reader. One whose reader the table cache had
//! closed before cannot, so closed tables are looked up in the file system now and then.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use springbloom_manager::{Manager, TableId};

use crate::source::FileSource;

/// Files looked up when a table opens: enough to keep pace with deletions, few enough not to be felt.
const CHECKED_AT_ONCE: usize = 4;

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
}

impl TableFiles {
    /// A reader is about to open the table.
    pub(crate) fn open(&self, id: TableId, file: Arc<FileSource>) {
        let mut files = self.lock();
        let known = files.entry(id).or_insert_with(|| KnownFile { file: file.clone(), open_readers: 0 });
        known.file = file;
        known.open_readers += 1;
    }

    /// A reader let go of the table. The table is forgotten with its last reader if its file is going away.
    pub(crate) fn close(&self, id: TableId, obsolete: bool, manager: &Manager) {
        let mut files = self.lock();
        let Some(known) = files.get_mut(&id) else { return };
        known.open_readers -= 1;
        if obsolete && known.open_readers == 0 {
            files.remove(&id);
            // Under the lock, so that a reader that opens the table now is not forgotten with it.
            manager.forget(id);
        }
    }

    /// Forgets some closed tables whose files are gone.
    pub(crate) fn forget_deleted(&self, manager: &Manager) {
        let closed = manager.closed_tables();
        let looked_at = CHECKED_AT_ONCE.min(closed.len());
        let first = self.next_look.fetch_add(looked_at, Ordering::Relaxed) % closed.len().max(1);
        let candidates: Vec<_> = {
            let files = self.lock();
            let closed = closed.iter().cycle().skip(first).take(looked_at);
            closed.filter_map(|id| files.get(id).map(|known| (*id, known.file.clone()))).collect()
        };
        for (id, file) in candidates {
            if file.exists() {
                continue;
            }
            let mut files = self.lock();
            if files.get(&id).is_some_and(|known| known.open_readers == 0) {
                files.remove(&id);
                manager.forget(id);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TableId, KnownFile>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
