//! What the policies of one database share. What it loaded ends with the last policy.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use slatedb::object_store::ObjectStore;
use slatedb::object_store::path::Path;
use slatedb::{PrefixExtractor, PrefixTarget};
use springbloom_format::Directory;
use springbloom_manager::{BytewiseComparator, Fences, ScopeId, TableId, TableSpec};
use tokio::runtime::Handle;

use crate::filters::Filters;
use crate::head::Place;
use crate::known_tables::{KnownTables, Open};
use crate::requests::Requests;
use crate::unit_objects::{UnitObjects, units_text};

/// The databases that have a policy or a filter, under one budget.
pub(crate) struct Databases {
    pub(crate) filters: Filters,
    open: Mutex<Vec<Weak<Database>>>,
}

impl Databases {
    pub(crate) fn new(filters: Filters) -> Self {
        Self { filters, open: Mutex::default() }
    }
}

/// A database with its policies for keys, or those for prefixes by one extractor.
pub(crate) struct Database {
    all: Arc<Databases>,
    scope: ScopeId,
    store: Arc<dyn ObjectStore>,
    requests: Requests,
    /// Where units of new tables go.
    pub(crate) folder: String,
    /// Its own, and those of databases that it is a clone of.
    folders: Mutex<HashMap<String, Arc<UnitObjects>>>,
    /// Of the prefixes.
    extractor: Option<Arc<dyn PrefixExtractor>>,
    pub(crate) tables: KnownTables,
    policies: AtomicUsize,
}

impl Drop for Database {
    fn drop(&mut self) {
        self.all.open.lock().retain(|database| database.strong_count() > 0);
    }
}

impl Database {
    /// The one that has such policies already, or a new one.
    pub(crate) fn get_or_insert(
        all: &Arc<Databases>,
        path: &Path,
        store: Arc<dyn ObjectStore>,
        extractor: Option<Arc<dyn PrefixExtractor>>,
    ) -> Arc<Self> {
        let (folder, runtime) = (units_text(path), Handle::current());
        let name = extractor.as_ref().map(|extractor| extractor.name());
        let mut databases = all.open.lock();
        // Those that end now must do so without the lock.
        let alive: Vec<_> = databases.iter().filter_map(Weak::upgrade).collect();
        let found = alive.iter().find(|database| {
            database.folder == folder
                && Arc::ptr_eq(&database.store, &store)
                && database.requests.are_in(&runtime)
                && database.extractor().map(|extractor| extractor.name()) == name
        });
        let database = found.cloned().unwrap_or_else(|| {
            let database = Arc::new(Self {
                all: all.clone(),
                scope: ScopeId(all.filters.next_id()),
                store,
                requests: Requests::new(runtime, all.filters.traffic.clone()),
                folder,
                folders: Mutex::default(),
                extractor,
                tables: KnownTables::default(),
                policies: AtomicUsize::new(0),
            });
            databases.push(Arc::downgrade(&database));
            database
        });
        drop(databases);
        database
    }

    pub(crate) fn policy_begins(&self) {
        self.policies.fetch_add(1, Relaxed);
    }

    /// A cache may keep filters when all readers are closed. They know their tables again if a new reader asks them.
    pub(crate) fn policy_ends(&self) {
        if self.policies.fetch_sub(1, Relaxed) == 1 {
            self.tables.close_all();
        }
    }

    pub(crate) fn segment_keys(&self) -> u32 {
        self.all.filters.segment_keys
    }

    /// That of the prefixes which the filters are over; `None`: they are over keys.
    pub(crate) fn extractor(&self) -> Option<&dyn PrefixExtractor> {
        self.extractor.as_deref()
    }

    /// The prefix of `bytes`, which `target` holds, if it has one.
    pub(crate) fn prefix_of<'b>(&self, target: &PrefixTarget, bytes: &'b [u8]) -> Option<&'b [u8]> {
        bytes.get(..self.extractor()?.prefix_len(target)?)
    }

    pub(crate) fn objects(&self, folder: &str) -> Arc<UnitObjects> {
        let mut folders = self.folders.lock();
        if let Some(objects) = folders.get(folder) {
            return objects.clone();
        }
        let objects = Arc::new(UnitObjects::new(self.store.clone(), folder, self.requests.clone()));
        folders.insert(folder.to_owned(), objects.clone());
        objects
    }

    /// Lets the manager know a table. `None`: there is no room for it.
    pub(crate) fn open(&self, place: &Place, directory: &Directory) -> Option<Open> {
        let manager = &self.all.filters.manager;
        let segments = || 0..directory.segment_count();
        let firsts = segments().map(|segment| directory.fence(segment));
        let handle = manager.register(TableSpec {
            // A number of its own each time: the one before may still be known until a lookup ends.
            id: TableId(self.all.filters.next_id()),
            scope: self.scope,
            level: None,
            comparator: Some(&BytewiseComparator),
            shapes: segments().map(|segment| directory.shape(segment)).collect(),
            fences: Fences::pack(firsts, Some(directory.last_key()), true)?,
            source: self.objects(&place.folder),
            locator: &place.name.to_bytes(),
            index_bytes: 0,
            warm_start: None,
        })?;
        Open::new(handle, manager.clone(), segments().len())
    }
}
