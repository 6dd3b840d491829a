//! Open databases, as table readers tell of them.
//!
//! An engine does not say when a database closes. It destroys all readers of a database before closing is done, and it keeps the reader
//! that it used last. So a database counts as open while a table of it is open. When the last one is closed, its tables are forgotten, and
//! its files are not accessed any more.

use std::{
    collections::{HashMap, VecDeque},
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use parking_lot::Mutex;
use springbloom_manager::{Chore, Manager, Notice, Notices, Place, ScopeId};

use crate::engine::{FileAccess, RowCache};

/// Tells databases of the process apart.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// Lines that wait for a log. Of more, the first ones tell what is wrong.
const LINES_MAX: usize = 64;

/// The column families of a database have successive scopes, from its number times this on.
const SCOPES_OF_DATABASE: u64 = 1 << 32;

/// A database while it is open.
#[derive(Debug)]
pub(crate) struct Database {
    /// Of this opening. No two openings of any database have the same.
    pub(super) number: u64,
    /// The engine's name for this opening of the database.
    session: Vec<u8>,
    /// Where it is.
    folder: String,
    is_for_writing: AtomicBool,
    rows: RowCache,
    /// Of all its tables, when it wrote one last.
    data_bytes: AtomicU64,
    /// After the database is closed, no file exists for it.
    pub(super) files: FileAccess,
    /// Of its first table that was opened.
    pub(super) device: OnceLock<u64>,
    /// What its log is to be told.
    lines: Mutex<VecDeque<Notice>>,
    /// By [`Once`].
    under_way: [AtomicBool; 3],
    /// That began with a table of it, about.
    pub(super) lookups: AtomicU64,
    lookups_of_all: Arc<AtomicU64>,
}

/// What is done for a database by one thread at a time.
#[derive(Clone, Copy)]
pub(crate) enum Once {
    Telling,
    Checking,
    SeekingLocks,
}

/// A column family of a database, while one of its tables is open.
pub(crate) struct ColumnFamily {
    pub(crate) database: Arc<Database>,
    /// Of its keys: keys of different comparators are never compared. The next one is that of their prefixes.
    keys: ScopeId,
    /// Once a table has told it.
    name: OnceLock<String>,
}

/// The databases that share one budget.
#[derive(Default)]
pub(crate) struct Databases {
    open: Mutex<HashMap<Vec<u8>, Open>>,
    /// Of all of them, of those that are closed as well.
    pub(crate) lookups: Arc<AtomicU64>,
}

struct Open {
    database: Arc<Database>,
    families: Vec<Arc<ColumnFamily>>,
    next_scope: ScopeId,
}

impl Database {
    /// Scopes of its column families, of those that are closed as well.
    pub(crate) fn scopes(&self) -> Range<ScopeId> {
        ScopeId(self.number * SCOPES_OF_DATABASE)..ScopeId((self.number + 1) * SCOPES_OF_DATABASE)
    }

    /// Number of the database that a scope is of.
    pub(crate) fn number_of(ScopeId(scope): ScopeId) -> u64 {
        scope / SCOPES_OF_DATABASE
    }

    /// Whether it may have been opened for writing. Never true for a read-only opening.
    pub(crate) fn is_for_writing(&self) -> bool {
        self.is_for_writing.load(Ordering::Relaxed)
    }

    /// Where accesses to its files go.
    pub(crate) fn place(&self) -> Place {
        Place { device: self.device.get().copied().unwrap_or(self.number), source: self.number }
    }

    /// Tells its log what that is to be told. Accesses the file system.
    pub(crate) fn tell(&self) {
        loop {
            // Without the lock: the log may hang.
            let Some(Notice { text, is_warning }) = self.lines.lock().pop_front() else { return };
            self.files.log(is_warning, &text);
        }
    }

    /// Has a thread that touches files do something, if the database is open by then. Its end waits for that, and not for what waits for
    /// its turn.
    pub(crate) fn run(self: &Arc<Self>, manager: &Manager, run: impl FnOnce(&Self) + Send + 'static) {
        let database = Arc::downgrade(self);
        manager.run(Chore::new(self.place(), move || {
            if let Some(database) = database.upgrade() {
                database.files.enter(|| run(&database));
            }
        }));
    }

    /// The same, unless such a thing is under way.
    pub(crate) fn run_once(
        self: &Arc<Self>,
        manager: &Manager,
        what: Once,
        run: impl FnOnce(&Self) + Send + 'static,
    ) {
        if !self.under_way[what as usize].swap(true, Ordering::AcqRel) {
            self.run(manager, move |database| {
                run(database);
                database.under_way[what as usize].store(false, Ordering::Release);
            });
        }
    }

    /// About this many lookups began with a table of it.
    pub(crate) fn count_lookups(&self, lookups: u64) {
        self.lookups.fetch_add(lookups, Ordering::Relaxed);
        self.lookups_of_all.fetch_add(lookups, Ordering::Relaxed);
    }
}

impl Databases {
    /// A column family of the database with that session has its first table open.
    pub(crate) fn open(
        &self,
        session: &[u8],
        folder: &[u8],
        is_for_writing: bool,
        rows: RowCache,
        files: FileAccess,
    ) -> Arc<ColumnFamily> {
        let mut open = self.open.lock();
        let Open { database, families, next_scope } = open.entry(session.to_vec()).or_insert_with(|| {
            let database = Arc::new(Database {
                number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
                session: session.to_vec(),
                folder: String::from_utf8_lossy(folder).into_owned(),
                is_for_writing: AtomicBool::new(false),
                rows,
                data_bytes: AtomicU64::new(0),
                files,
                device: OnceLock::new(),
                lines: Mutex::default(),
                under_way: Default::default(),
                lookups: AtomicU64::new(0),
                lookups_of_all: self.lookups.clone(),
            });
            Open { next_scope: database.scopes().start, families: Vec::new(), database }
        });
        let family = ColumnFamily { database: database.clone(), keys: *next_scope, name: OnceLock::new() };
        let family = Arc::new(family);
        next_scope.0 += 2;
        families.push(family.clone());
        database.is_for_writing.fetch_or(is_for_writing, Ordering::Relaxed);
        family
    }

    /// Capacity of the caches of records that they ask before tables.
    pub(crate) fn row_cache_bytes(&self) -> usize {
        let open = self.open.lock();
        let of = |open: &Open| (open.database.rows.identity, open.database.rows.capacity as usize);
        open.values().map(of).collect::<HashMap<_, _>>().into_values().sum()
    }

    /// All tables of the database with that session take this many bytes. Not known before one of them is open.
    pub(crate) fn set_data_bytes(&self, session: &[u8], bytes: u64) {
        if let Some(open) = self.open.lock().get(session) {
            open.database.data_bytes.store(bytes, Ordering::Relaxed);
        }
    }

    /// Bytes of the tables of all of them, as far as they said.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.open.lock().values().map(|open| open.database.data_bytes.load(Ordering::Relaxed)).sum()
    }

    /// Database and column family of each scope that may have a table open.
    pub(crate) fn names(&self) -> HashMap<ScopeId, (String, String)> {
        let open = self.open.lock();
        let all = open.values().flat_map(|open| &open.families).flat_map(|family| {
            let (folder, name) = (&family.database.folder, family.name.get().cloned().unwrap_or_default());
            let of_prefixes = format!("{name} (prefixes)");
            [
                (family.scope(false), (folder.clone(), name)),
                (family.scope(true), (folder.clone(), of_prefixes)),
            ]
        });
        all.collect()
    }

    fn all(&self) -> Vec<Arc<Database>> {
        self.open.lock().values().map(|open| open.database.clone()).collect()
    }

    /// Notes for all open databases what their logs are to be told. It waits on where none is open. Touches no file.
    pub(crate) fn hand_out(&self, notices: &Notices) {
        if notices.is_empty() {
            return;
        }
        let databases = self.all();
        if databases.is_empty() {
            return;
        }
        let notices = notices.take();
        for database in databases {
            let mut lines = database.lines.lock();
            let room = LINES_MAX - lines.len();
            lines.extend(notices.iter().take(room).cloned());
        }
    }

    /// Has the logs of all open databases told, each by itself.
    pub(crate) fn tell_in_background(&self, manager: &Manager) {
        self.hand_out(manager.notices());
        let told = self.all().into_iter().filter(|database| !database.lines.lock().is_empty());
        told.for_each(|database| database.run_once(manager, Once::Telling, Database::tell));
    }

    /// Takes out a column family. Gives whether it was the database's last.
    pub(crate) fn leave(&self, family: &ColumnFamily) -> bool {
        let mut open = self.open.lock();
        let Some(entry) = open.get_mut(&family.database.session) else { return false };
        entry.families.retain(|open| !std::ptr::eq(&**open, family));
        if !entry.families.is_empty() {
            return false;
        }
        open.remove(&family.database.session);
        true
    }
}

impl ColumnFamily {
    /// Of its keys, or of their prefixes, which are compared byte by byte.
    pub(super) fn scope(&self, of_prefixes: bool) -> ScopeId {
        ScopeId(self.keys.0 + u64::from(of_prefixes))
    }

    /// A table says which column family wrote it: the first one that says so names it. An ingested table says nothing.
    pub(crate) fn learn_name(&self, name: &[u8]) {
        if !name.is_empty() {
            self.name.get_or_init(|| String::from_utf8_lossy(name).into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::test_engine::no_files;

    #[test]
    fn a_cache_of_records_that_databases_share_counts_once() {
        let databases = Databases::default();
        let rows = |identity, capacity| RowCache { identity, capacity };
        let families: Vec<_> =
            [(b"a", rows(1, 100)), (b"b", rows(1, 100)), (b"c", rows(2, 10)), (b"d", RowCache::default())]
                .into_iter()
                .map(|(session, rows)| {
                    databases.open(session, b"/nowhere", true, rows, no_files(&Arc::default()))
                })
                .collect();
        assert_eq!(databases.row_cache_bytes(), 110);
        families.iter().skip(1).for_each(|family| _ = databases.leave(family));
        assert_eq!(databases.row_cache_bytes(), 100);
    }
}
