//! Warm starts: reads the hotness file of each folder with tables, and writes it again.
//!
//! A table's identity in the file stays when a database is moved or copied ([`stored_id`]), so that a copy starts warm too. Entries of
//! tables that are not open yet are kept, charged to the budget, and written again as long as the tables' files exist. Invariants: no
//! failure here fails an open or a close; nothing here is on the path of a lookup.

pub mod hotness_file;
mod lock_file;
#[cfg(test)]
mod many_databases;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsStr,
    mem,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use springbloom_format::{StoredHotness, StoredSegment, StoredTable};
use springbloom_manager::{Hotness, Manager, Reservation, SegmentUse, allocated_bytes};
use xxhash_rust::xxh3::Xxh3;

use crate::{
    Engine,
    tables::{databases::Database, table_files::TableFiles},
};

/// Identity of a table that survives restarts and moves of its file. `head` is header and directory of its block.
pub fn stored_id(session: &[u8], orig_file_number: u64, head: &[u8]) -> u128 {
    let mut hash = origin(session, orig_file_number);
    hash.update(head);
    hash.digest128()
}

/// Identity of a table in the checksums of its units, so that units of another table do not pass for them.
pub(crate) fn block_identity(session: &[u8], orig_file_number: u64) -> u32 {
    origin(session, orig_file_number).digest() as u32
}

/// Hash of a table's origin, as its properties tell it.
fn origin(session: &[u8], orig_file_number: u64) -> Xxh3 {
    let mut hash = Xxh3::new();
    hash.update(&(session.len() as u64).to_le_bytes());
    hash.update(session);
    hash.update(&orig_file_number.to_le_bytes());
    hash
}

/// All folders that open databases have tables in.
pub(crate) struct WarmStart {
    engine: &'static Engine,
    manager: Arc<Manager>,
    files: Arc<TableFiles>,
    /// By the database's number.
    folders: Mutex<HashMap<u64, Vec<Arc<Folder>>>>,
    /// Databases of which something is to be written. Holds no lock but for a moment: closing a database waits for it.
    changed: Mutex<BTreeSet<u64>>,
}

/// One folder of tables of a database.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    database: Arc<Database>,
    state: Mutex<State>,
    /// Something changed since the folder was written last.
    is_changed: AtomicBool,
    /// Whether the lock file of the database is held here. Empty: not known yet.
    is_lock_held: OnceLock<bool>,
    /// The database is closed. Locked while the folder is written to.
    is_closed: Mutex<bool>,
}

#[derive(Debug, Default)]
struct State {
    is_loaded: bool,
    /// Tables of the file that were not opened yet, by identity and number of their files.
    waiting: BTreeMap<(u128, u64), Vec<StoredSegment>>,
    waiting_reservation: Option<Reservation>,
    /// There is a file, so that a next start is not cold as it is.
    has_file: bool,
    has_failed: bool,
}

impl WarmStart {
    pub(crate) fn new(engine: &'static Engine, manager: Arc<Manager>, files: Arc<TableFiles>) -> Self {
        Self { engine, manager, files, folders: Mutex::default(), changed: Mutex::default() }
    }

    /// A reader of the database opens a table. Gives the folder, and the table's entry in its file. Gives neither for a file whose name is
    /// not that of a table.
    pub(crate) fn open(
        &self,
        database: &Arc<Database>,
        path: &[u8],
        stored_id: u128,
    ) -> (Option<Arc<Folder>>, Option<Vec<SegmentUse>>) {
        let Some((path, file_number)) = self.engine.folder_and_number(Path::new(OsStr::from_bytes(path)))
        else {
            return (None, None);
        };
        let folder = self.folder(database, path);
        let mut state = folder.state.lock();
        if !mem::replace(&mut state.is_loaded, true) {
            self.load(&folder.path, &mut state);
        }
        let remembered = state.take_waiting(stored_id, file_number);
        drop(state);
        (Some(folder), remembered)
    }

    /// The database closes: writes its folders where something changed, and forgets them. Waits for no other database.
    pub(crate) fn close(&self, database: &Database) {
        if database.is_for_writing() {
            self.manager.take_in_visits_of(database.scopes());
            self.note_visits();
        }
        self.folders_of(database.number()).iter().for_each(|folder| self.save(folder, true));
        self.folders.lock().remove(&database.number());
        self.changed.lock().remove(&database.number());
    }

    /// Writes the file of each folder where something changed. O(databases in which something changed).
    pub(crate) fn save_all(&self) {
        self.note_visits();
        let changed = mem::take(&mut *self.changed.lock());
        let folders = changed.into_iter().flat_map(|database| self.folders_of(database));
        folders.for_each(|folder| self.save(&folder, false));
    }

    /// The folder has a table that its file does not tell of. Without a file, there is nothing to keep until lookups come.
    pub(crate) fn note_new_table(&self, folder: &Folder) {
        if !folder.state.lock().has_file {
            return;
        }
        folder.is_changed.store(true, Ordering::Relaxed);
        self.changed.lock().insert(folder.database.number());
    }

    /// Finds the databases that were looked up since the last call.
    fn note_visits(&self) {
        // Locked first: when a database that closes finds no visits, those that another thread found are noted.
        let mut changed = self.changed.lock();
        for scope in self.manager.take_visited() {
            let database = Database::number_of(scope);
            changed.insert(database);
            for folder in self.folders_of(database) {
                folder.is_changed.store(true, Ordering::Relaxed);
            }
        }
    }

    fn folders_of(&self, database: u64) -> Vec<Arc<Folder>> {
        self.folders.lock().get(&database).cloned().unwrap_or_default()
    }

    fn folder(&self, database: &Arc<Database>, path: &Path) -> Arc<Folder> {
        let mut folders = self.folders.lock();
        let of_database = folders.entry(database.number()).or_default();
        if let Some(known) = of_database.iter().find(|folder| folder.path == path) {
            return known.clone();
        }
        let new = Arc::new(Folder {
            path: path.to_owned(),
            database: database.clone(),
            state: Mutex::default(),
            is_changed: AtomicBool::new(false),
            is_lock_held: OnceLock::new(),
            is_closed: Mutex::default(),
        });
        of_database.push(new.clone());
        new
    }

    fn load(&self, folder: &Path, state: &mut State) {
        let stored = match hotness_file::read(self.engine, folder) {
            Ok(Some(stored)) => {
                state.has_file = true;
                stored
            }
            Ok(None) => return,
            Err(error) => {
                self.manager.notices().warn(format!(
                    "{}: what was remembered of filter use is not usable, a cold start: {error}",
                    folder.display()
                ));
                return;
            }
        };
        let segments: usize = stored.tables.iter().map(|table| table.segments.len()).sum();
        let bytes = segments * size_of::<StoredSegment>() + stored.tables.len() * size_of::<StoredTable>();
        match self.manager.reserve(bytes) {
            Some(reservation) => {
                let tables = stored.tables.into_iter();
                state.waiting = tables.map(|table| ((table.id, table.file_number), table.segments)).collect();
                state.waiting_reservation = Some(reservation);
            }
            None => self.manager.notices().warn(format!(
                "{}: no room in the filter budget for what was remembered of filter use, a cold start",
                folder.display()
            )),
        }
    }

    /// Writes a folder's file if something changed and it may be written. `is_last`: the database closes.
    fn save(&self, folder: &Folder, is_last: bool) {
        let mut is_closed = folder.is_closed.lock();
        if *is_closed {
            return;
        }
        *is_closed = is_last;
        if !folder.is_changed.swap(false, Ordering::Relaxed) || !self.may_write(folder) {
            return;
        }
        let waiting = {
            let mut state = folder.state.lock();
            state.waiting.retain(|(_, file_number), _| self.engine.has_table(&folder.path, *file_number));
            let table = |(&(id, file_number), segments): (&_, &Vec<_>)| StoredTable {
                id,
                file_number,
                segments: segments.clone(),
            };
            state.waiting.iter().map(table).collect()
        };
        let stored = self.collect(folder, waiting, is_last);
        let is_used = |table: &StoredTable| table.segments.iter().any(|segment| segment.access_count > 0.0);
        if !stored.tables.iter().any(is_used) {
            return;
        }
        let replaced = hotness_file::replace(self.engine, &folder.path, &stored);
        let mut state = folder.state.lock();
        match replaced {
            Ok(()) => state.has_file = true,
            Err(error) if !mem::replace(&mut state.has_failed, true) => {
                let path = folder.path.display();
                self.manager.notices().warn(format!("{path}: filter use cannot be remembered: {error}"));
            }
            Err(_) => (),
        }
    }

    /// Whether this process may write into the folder.
    fn may_write(&self, folder: &Folder) -> bool {
        if folder.database.is_for_writing() && folder.is_lock_held.get().is_none() {
            self.look_for_locks();
        }
        folder.database.is_for_writing() && folder.is_lock_held.get() == Some(&true)
    }

    /// Looks at the open files, of which there may be many, once for all folders.
    fn look_for_locks(&self) {
        let folders: Vec<_> = self.folders.lock().values().flatten().cloned().collect();
        let is_unknown = |folder: &&Arc<Folder>| folder.is_lock_held.get().is_none();
        let unknown: Vec<_> = folders.iter().filter(is_unknown).collect();
        let held = lock_file::held(self.engine, unknown.iter().map(|folder| &*folder.path));
        for (folder, is_held) in unknown.into_iter().zip(held) {
            folder.is_lock_held.get_or_init(|| is_held);
        }
    }

    fn collect(&self, folder: &Folder, waiting: Vec<StoredTable>, is_last: bool) -> StoredHotness {
        let mut stored = StoredHotness {
            budget_bytes: self.manager.budget().budget_bytes() as u64,
            // An upper bound: other folders may share the budget.
            other_bytes: self.manager.other_bytes() as u64,
            visits_per_lookup: visits_per_lookup(self.engine, &self.manager).unwrap_or(0.0) as f32,
            known_absent_65536ths: (self.manager.known_absent_share() * 65_536.0) as u16, // saturates
            tables: waiting,
        };
        let tables = self.files.in_folder(folder);
        if is_last {
            // Bytes of the readers that closed just now: the next start needs them again.
            stored.other_bytes += (tables.len() * allocated_bytes(self.engine.reader_bytes)) as u64;
        }
        for (file, uses) in tables {
            stored.tables.push(StoredTable {
                id: file.stored_id(),
                file_number: file.number(),
                segments: uses.into_iter().map(to_stored).collect(),
            });
        }
        stored
    }
}

impl Folder {
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }
}

impl State {
    /// A table's entry in the file. If several have its identity: the one with its file number.
    fn take_waiting(&mut self, stored_id: u128, file_number: u64) -> Option<Vec<SegmentUse>> {
        let exact = (stored_id, file_number);
        let key = match self.waiting.contains_key(&exact) {
            true => exact,
            false => *self.waiting.range((stored_id, 0)..=(stored_id, u64::MAX)).next()?.0,
        };
        let segments = self.waiting.remove(&key)?;
        if self.waiting.is_empty() {
            self.waiting_reservation = None;
        }
        Some(segments.into_iter().map(from_stored).collect())
    }
}

/// Visits per lookup that visited any segment, over all budgets of the process. `None` before the first lookup.
pub(crate) fn visits_per_lookup(engine: &Engine, manager: &Manager) -> Option<f64> {
    let lookups = (engine.digests_computed)();
    (lookups > 0).then(|| manager.outcomes().visits() as f64 / lookups as f64)
}

fn to_stored(segment: SegmentUse) -> StoredSegment {
    let Hotness { access_count, negatives, wasted_reads } = segment.hotness;
    StoredSegment { access_count, negatives, wasted_reads, units: segment.units }
}

/// A segment of a hotness file.
pub fn from_stored(segment: StoredSegment) -> SegmentUse {
    let StoredSegment { access_count, negatives, wasted_reads, units } = segment;
    SegmentUse { hotness: Hotness { access_count, negatives, wasted_reads }, units }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use springbloom_testkit::cpu_time::{TICK, cpu_time};

    use super::*;

    /// What the `n`-th table was remembered with.
    fn segments(n: u64) -> Vec<StoredSegment> {
        vec![StoredSegment { access_count: n as f32, negatives: 0.0, wasted_reads: 0.0, units: 1 }]
    }

    fn waiting(tables: impl Iterator<Item = (u128, u64)>) -> State {
        State { waiting: tables.zip(0..).map(|(key, n)| (key, segments(n))).collect(), ..State::default() }
    }

    fn access_count(taken: Option<Vec<SegmentUse>>) -> Option<f32> {
        taken.map(|segments| segments[0].hotness.access_count)
    }

    #[test]
    fn of_tables_with_one_identity_that_with_the_file_number_is_taken_first() {
        // A table that was copied under another number, as an import does.
        let mut state = waiting([(7, 1), (7, 2), (7, 3), (8, 9)].into_iter());
        assert_eq!(access_count(state.take_waiting(7, 2)), Some(1.0));
        assert_eq!(access_count(state.take_waiting(7, 100)), Some(0.0));
        assert_eq!(access_count(state.take_waiting(7, 100)), Some(2.0));
        assert_eq!(access_count(state.take_waiting(7, 3)), None, "all of that identity were taken");
        assert_eq!(access_count(state.take_waiting(8, 100)), Some(3.0));
    }

    /// Takes that many tables, each by its identity alone as after a move of the database, from the last to the first.
    fn taking_all(tables: u64) -> Duration {
        let mut state = waiting((0..tables).map(|n| (u128::from(n), n)));
        let begun = cpu_time();
        for n in (0..tables).rev() {
            assert_eq!(access_count(state.take_waiting(n.into(), u64::MAX)), Some(n as f32));
        }
        cpu_time() - begun
    }

    #[test]
    fn the_time_to_take_a_table_hardly_grows_with_their_number() {
        let (few, many) = (1000, 64_000);
        let (few_take, many_take) = (taking_all(few), taking_all(many));
        println!("{few} tables {few_take:?}, {many} tables {many_take:?}");
        // In proportion: 64 times as much, some ten milliseconds. If each looked at each: two billion looks, seconds.
        assert!(
            many_take < 100 * few_take.max(TICK),
            "{few_take:?} for {few} tables, {many_take:?} for {many}"
        );
    }
}
