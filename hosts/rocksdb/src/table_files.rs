//! Which files the known tables lie in, so that the state of deleted ones is forgotten.
//!
//! Most tables say themselves that they are obsolete when RocksDB drops their reader. One whose reader the table cache had
//! closed before cannot, so closed tables are looked up in the file system now and then.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use springbloom_manager::{Manager, TableId};

use crate::source::FileSource;

/// Files looked up when a table opens: enough to keep pace with deletions, few enough not to be felt.
const CHECKED_AT_ONCE: usize = 4;

#[derive(Default)]
pub(crate) struct TableFiles {
    files: Mutex<HashMap<TableId, Arc<FileSource>>>,
}

impl TableFiles {
    pub(crate) fn insert(&self, id: TableId, source: Arc<FileSource>) {
        self.lock().insert(id, source);
    }

    pub(crate) fn remove(&self, id: TableId) {
        self.lock().remove(&id);
    }

    /// Forgets some closed tables whose files are gone.
    pub(crate) fn forget_deleted(&self, manager: &Manager) {
        let closed = manager.closed_tables();
        let candidates: Vec<_> = {
            let files = self.lock();
            closed.iter().take(CHECKED_AT_ONCE).filter_map(|id| files.get(id).map(|file| (*id, file.clone()))).collect()
        };
        for (id, file) in candidates {
            if !file.exists() {
                manager.forget(id);
                self.remove(id);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<TableId, Arc<FileSource>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
