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
use springbloom_manager::{Notices, ScopeId};

use crate::engine::{FileAccess, LogLevel};

/// Tells databases of the process apart.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// The column families of a database have successive scopes, from its number times this on.
const SCOPES_OF_DATABASE: u64 = 1 << 32;

/// The scope of the prefixes of a column family's keys.
fn prefixes_beside(ScopeId(keys): ScopeId) -> ScopeId {
    ScopeId(keys + 1)
}

/// How many databases are counted that have no table with units yet. More are not opened at once.
const UNCLAIMED_MAX: usize = 64;
/// After so many looks, the openings of a database are summed up even if it still opens tables.
const LOOKS_MAX: u32 = 20;

/// A database while it is open.
#[derive(Debug)]
pub(crate) struct Database {
    number: u64,
    /// The engine's name for this opening of the database.
    session: Vec<u8>,
    /// Where it is.
    folder: String,
    is_for_writing: AtomicBool,
    files: FileAccess,
    openings: Mutex<Openings>,
    lookups: AtomicU64,
    lookups_of_all: Arc<AtomicU64>,
}

/// How tables of a database were opened since its opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OpeningCounts {
    with_units: u64,
    without_units: u64,
    deferred: u64,
}

/// Counts of a database's openings, for one line in its log.
#[derive(Debug, Default)]
struct Openings {
    counts: OpeningCounts,
    at_last_look: OpeningCounts,
    looks: u32,
}

/// A column family of a database, while one of its tables is open.
pub(crate) struct ColumnFamily {
    pub(crate) database: Arc<Database>,
    /// A scope of its own: keys of different comparators are never compared.
    pub(crate) keys: ScopeId,
    /// And one for their prefixes, which are compared byte by byte.
    pub(crate) prefixes: ScopeId,
    name: FamilyName,
}

/// Name of a column family, once a table has told it.
type FamilyName = Arc<OnceLock<String>>;

/// The databases that share one budget.
#[derive(Default)]
pub(crate) struct Databases {
    open: Mutex<HashMap<Vec<u8>, Open>>,
    /// Counts of tables without units, for databases that have no table with units yet. The newest database last.
    unclaimed: Mutex<VecDeque<(Vec<u8>, u64)>>,
    lookups: Arc<AtomicU64>,
}

struct Open {
    database: Arc<Database>,
    /// By the scope of their keys; that of their prefixes is the next.
    families: Vec<(ScopeId, FamilyName)>,
    next_scope: ScopeId,
}

impl Database {
    /// Number of this opening. No two openings of any database have the same.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

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

    /// Access to its files. After the database is closed, no file exists for it.
    pub(crate) fn files(&self) -> &FileAccess {
        &self.files
    }

    /// About so many lookups began with a table of it.
    pub(crate) fn count_lookups(&self, lookups: u64) {
        self.lookups.fetch_add(lookups, Ordering::Relaxed);
        self.lookups_of_all.fetch_add(lookups, Ordering::Relaxed);
    }

    /// All that were counted.
    pub(crate) fn lookups(&self) -> u64 {
        self.lookups.load(Ordering::Relaxed)
    }

    /// A table of it was opened with units.
    pub(crate) fn count_with_units(&self) {
        self.openings.lock().counts.with_units += 1;
    }

    /// A table of it had no room.
    pub(crate) fn count_deferred(&self) {
        self.openings.lock().counts.deferred += 1;
    }

    /// Gives the counts, once: when no table was opened since the last look.
    fn due_counts(&self) -> Option<OpeningCounts> {
        let mut openings = self.openings.lock();
        let Openings { counts, at_last_look, looks } = &mut *openings;
        if *looks > LOOKS_MAX {
            return None;
        }
        let is_due = *looks > 0 && counts == at_last_look || *looks == LOOKS_MAX;
        *looks = if is_due { LOOKS_MAX + 1 } else { *looks + 1 };
        *at_last_look = *counts;
        is_due.then_some(*counts)
    }
}

impl Databases {
    /// A column family of the database with that session has its first table open.
    pub(crate) fn open(
        &self,
        session: &[u8],
        folder: &[u8],
        is_for_writing: bool,
        files: FileAccess,
    ) -> ColumnFamily {
        let without_units = || {
            let mut unclaimed = self.unclaimed.lock();
            let at = unclaimed.iter().position(|(of, _)| of == session);
            at.and_then(|at| unclaimed.remove(at)).map_or(0, |(_, tables)| tables)
        };
        let mut open = self.open.lock();
        let Open { database, families, next_scope } = open.entry(session.to_vec()).or_insert_with(|| {
            let database = Arc::new(Database {
                number: NEXT_NUMBER.fetch_add(1, Ordering::Relaxed),
                session: session.to_vec(),
                folder: String::from_utf8_lossy(folder).into_owned(),
                is_for_writing: AtomicBool::new(false),
                files,
                openings: Mutex::new(Openings {
                    counts: OpeningCounts { without_units: without_units(), ..OpeningCounts::default() },
                    ..Openings::default()
                }),
                lookups: AtomicU64::new(0),
                lookups_of_all: self.lookups.clone(),
            });
            Open { next_scope: database.scopes().start, families: Vec::new(), database }
        });
        let (keys, name) = (*next_scope, FamilyName::default());
        let prefixes = prefixes_beside(keys);
        next_scope.0 += 2;
        families.push((keys, name.clone()));
        database.is_for_writing.fetch_or(is_for_writing, Ordering::Relaxed);
        ColumnFamily { database: database.clone(), keys, prefixes, name }
    }

    /// Lookups of all of them, of those that are closed as well.
    pub(crate) fn lookups(&self) -> u64 {
        self.lookups.load(Ordering::Relaxed)
    }

    /// Database and column family of each scope that may have a table open.
    pub(crate) fn names(&self) -> HashMap<ScopeId, (String, String)> {
        let open = self.open.lock();
        let all = open.values().flat_map(|Open { database, families, .. }| {
            families.iter().flat_map(move |(keys, name)| {
                let (folder, name) = (&database.folder, name.get().cloned().unwrap_or_default());
                let of_prefixes = format!("{name} (prefixes)");
                [(*keys, (folder.clone(), name)), (prefixes_beside(*keys), (folder.clone(), of_prefixes))]
            })
        });
        all.collect()
    }

    /// The database with that session opened a table without units.
    pub(crate) fn count_without_units(&self, session: &[u8]) {
        if let Some(Open { database, .. }) = self.open.lock().get(session) {
            database.openings.lock().counts.without_units += 1;
            return;
        }
        let mut unclaimed = self.unclaimed.lock();
        if let Some((_, tables)) = unclaimed.iter_mut().find(|(of, _)| of == session) {
            *tables += 1;
            return;
        }
        if unclaimed.len() == UNCLAIMED_MAX {
            unclaimed.pop_front();
        }
        unclaimed.push_back((session.to_vec(), 1));
    }

    /// Tells the log of each database once how its tables were opened, when no more are being opened.
    pub(crate) fn sum_up_openings(&self, budget_bytes: usize) {
        let databases: Vec<_> = self.open.lock().values().map(|open| open.database.clone()).collect();
        for database in databases {
            let Some(counts) = database.due_counts() else { continue };
            let OpeningCounts { with_units, without_units, deferred } = counts;
            database.files.log(LogLevel::Info, &format!(
                "tables opened so far: {with_units} with filter units, {without_units} without, {deferred} without room for theirs \
                 in the budget of {budget_bytes} bytes"
            ));
        }
    }

    /// Tells the logs of all open databases what waits to be told. It waits on where none is open.
    pub(crate) fn tell(&self, notices: &Notices) {
        if notices.is_empty() {
            return;
        }
        let databases: Vec<_> = self.open.lock().values().map(|open| open.database.clone()).collect();
        if databases.is_empty() {
            return;
        }
        for notice in notices.take() {
            let level = if notice.is_warning { LogLevel::Warning } else { LogLevel::Info };
            databases.iter().for_each(|database| database.files.log(level, &notice.text));
        }
    }

    /// Takes out a column family. Gives whether it was the database's last.
    pub(crate) fn leave(&self, family: &ColumnFamily) -> bool {
        let mut open = self.open.lock();
        let Some(entry) = open.get_mut(&family.database.session) else { return false };
        entry.families.retain(|(keys, _)| *keys != family.keys);
        if !entry.families.is_empty() {
            return false;
        }
        open.remove(&family.database.session);
        true
    }
}

impl ColumnFamily {
    /// A table says which column family wrote it: the first one that says so names it. An ingested table says nothing.
    pub(crate) fn learn_name(&self, name: &[u8]) {
        if !name.is_empty() {
            self.name.get_or_init(|| String::from_utf8_lossy(name).into_owned());
        }
    }
}
