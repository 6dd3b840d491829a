//! Warm restarts: what is known of the tables in each folder, taken from its hotness file and brought back to it.
//!
//! Tables are told by what stays with them when a database is moved or copied ([`stored_id`]), so that a copy starts warm as well.
//! What the file says of tables that are not open yet is kept (charged to the budget) and written again as long as their files exist.
//! Invariants: no failure here fails an open or a close; nothing here is on the path of a lookup.

use std::{
    collections::HashMap,
    ffi::OsStr,
    mem,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use springbloom_format::{StoredHotness, StoredSegment, StoredTable};
use springbloom_manager::{Hotness, Manager, Reservation, SegmentUse};
use xxhash_rust::xxh3::Xxh3;

use crate::{ffi, hotness_file, open_table::READER_BYTES, table_files::TableFiles};

/// A folder whose last reader closes is written at once, unless that was done just now: a tiny table cache opens and closes
/// readers all the time.
const CLOSE_SAVE_INTERVAL: Duration = Duration::from_secs(2);
/// How long the tables of a folder without readers stay known, for a table cache that may open one again.
const CLOSED_LINGER: Duration = Duration::from_secs(10);
/// What a closing database waits for its last lookups to be counted.
const SETTLE_TIMEOUT: Duration = Duration::from_millis(200);

/// Identity of a table that outlives the process and the place of its file: `head` is header and directory of its block.
pub(crate) fn stored_id(session: &[u8], orig_file_number: u64, head: &[u8]) -> u128 {
    let mut hash = origin(session, orig_file_number);
    hash.update(head);
    hash.digest128()
}

/// What goes into the checksums of a table's units, so that those of no other table are taken for them.
pub(crate) fn block_identity(session: &[u8], orig_file_number: u64) -> u32 {
    origin(session, orig_file_number).digest() as u32
}

/// Hash of what a table's properties say about where it comes from.
fn origin(session: &[u8], orig_file_number: u64) -> Xxh3 {
    let mut hash = Xxh3::new();
    hash.update(&(session.len() as u64).to_le_bytes());
    hash.update(session);
    hash.update(&orig_file_number.to_le_bytes());
    hash
}

/// Folder and number of a table file; `None` for a name that RocksDB gives no table of a database.
pub(crate) fn place_of(path: &Path) -> Option<(&Path, u64)> {
    let extension = path.extension()?;
    let number = path.file_stem()?.to_str()?.parse().ok()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    (extension == "sst" || extension == "ldb").then_some((folder, number))
}

/// All folders that tables were opened in.
pub(crate) struct Folders {
    manager: Arc<Manager>,
    files: Arc<TableFiles>,
    folders: Mutex<HashMap<PathBuf, Arc<Folder>>>,
}

/// One folder of tables: a database's.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    state: Mutex<State>,
    /// One writer at a time.
    saving: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    is_loaded: bool,
    open_readers: usize,
    /// Tables of the file that were not opened yet.
    waiting: Vec<StoredTable>,
    waiting_reservation: Option<Reservation>,
    /// Visits of all lookups when the folder was written last; `None`: something else changed since.
    visits_saved: Option<u64>,
    /// Since when no reader is open.
    closed_at: Option<Instant>,
    /// Another one stands in its place, or none.
    is_forgotten: bool,
    saved_at: Option<Instant>,
    has_failed: bool,
}

impl Folders {
    pub(crate) fn new(manager: Arc<Manager>, files: Arc<TableFiles>) -> Self {
        Self { manager, files, folders: Mutex::default() }
    }

    /// A reader opens a table. Gives the folder to [`close`](Self::close) it in, and what is remembered of it; neither for a file that
    /// is not a database's.
    pub(crate) fn open(
        &self,
        path: &[u8],
        stored_id: u128,
    ) -> (Option<Arc<Folder>>, Option<Vec<SegmentUse>>) {
        let Some((path, file_number)) = place_of(Path::new(OsStr::from_bytes(path))) else {
            return (None, None);
        };
        loop {
            let folder = self.folder(path);
            let mut state = lock(&folder.state);
            if state.is_forgotten {
                continue; // just now: there is a new one
            }
            if !mem::replace(&mut state.is_loaded, true) {
                self.load(&folder.path, &mut state);
            }
            state.open_readers += 1;
            state.closed_at = None;
            let remembered = state.take_waiting(stored_id, file_number);
            drop(state);
            return (Some(folder), remembered);
        }
    }

    /// A reader closed; `obsolete`: RocksDB lets go of the table for good, because its file will be deleted or, as nothing tells
    /// apart, because the database closes. The last reader of a folder writes it, and with a database that closes all is forgotten.
    pub(crate) fn close(&self, folder: &Folder, obsolete: bool) {
        let mut state = lock(&folder.state);
        state.open_readers = state.open_readers.saturating_sub(1);
        if obsolete {
            state.visits_saved = None;
        }
        if state.open_readers > 0 {
            return;
        }
        state.closed_at = Some(Instant::now());
        let was_just_saved = state.saved_at.is_some_and(|at| at.elapsed() < CLOSE_SAVE_INTERVAL);
        drop(state);
        if obsolete || !was_just_saved {
            self.manager.settle(SETTLE_TIMEOUT);
            self.save(folder);
        }
        if obsolete {
            self.forget(folder);
        }
    }

    /// Forgets folders without a reader for a while: closed databases, whose tables' state must not fill the budget for ever.
    pub(crate) fn forget_closed(&self) {
        for folder in self.all() {
            if lock(&folder.state).closed_at.is_some_and(|at| at.elapsed() > CLOSED_LINGER) {
                self.save(&folder);
                self.forget(&folder);
            }
        }
    }

    /// Forgets a folder that has no reader.
    fn forget(&self, folder: &Folder) {
        let mut folders = lock(&self.folders);
        let mut state = lock(&folder.state);
        if state.open_readers > 0 {
            return;
        }
        state.is_forgotten = true;
        state.waiting_reservation = None;
        folders.remove(&folder.path);
        for (id, _) in self.files.in_folder(folder) {
            self.files.forget(id);
        }
    }

    /// Writes every folder that has something new to say.
    pub(crate) fn save_all(&self) {
        self.all().iter().for_each(|folder| self.save(folder));
    }

    fn all(&self) -> Vec<Arc<Folder>> {
        lock(&self.folders).values().cloned().collect()
    }

    fn folder(&self, path: &Path) -> Arc<Folder> {
        let mut folders = lock(&self.folders);
        if let Some(folder) = folders.get(path) {
            return folder.clone();
        }
        let folder =
            Arc::new(Folder { path: path.to_owned(), state: Mutex::default(), saving: Mutex::default() });
        folders.insert(path.to_owned(), folder.clone());
        folder
    }

    fn load(&self, folder: &Path, state: &mut State) {
        let stored = match hotness_file::read(folder) {
            Ok(Some(stored)) => stored,
            Ok(None) => return,
            Err(error) => {
                log::warn!(
                    "{}: what was remembered of filter use is not usable, a cold start: {error}",
                    folder.display()
                );
                return;
            }
        };
        let segments: usize = stored.tables.iter().map(|table| table.segments.len()).sum();
        let bytes = segments * size_of::<StoredSegment>() + stored.tables.len() * size_of::<StoredTable>();
        match self.manager.reserve(bytes) {
            Some(reservation) => {
                state.waiting = stored.tables;
                state.waiting_reservation = Some(reservation);
            }
            None => log::warn!(
                "{}: no room in the filter budget for what was remembered of filter use, a cold start",
                folder.display()
            ),
        }
    }

    /// Writes a folder's file if there is something new to say.
    fn save(&self, folder: &Folder) {
        let _one_at_a_time = lock(&folder.saving);
        let visits = self.manager.outcomes().visits();
        let waiting = {
            let mut state = lock(&folder.state);
            if state.visits_saved == Some(visits) {
                return;
            }
            state.visits_saved = Some(visits);
            state.saved_at = Some(Instant::now());
            state.waiting.retain(|table| exists(&folder.path, table.file_number));
            state.waiting.clone()
        };
        let stored = self.collect(folder, waiting);
        let is_used = |table: &StoredTable| table.segments.iter().any(|segment| segment.access_count > 0.0);
        if !stored.tables.iter().any(is_used) {
            return;
        }
        if let Err(error) = hotness_file::replace(&folder.path, &stored)
            && !mem::replace(&mut lock(&folder.state).has_failed, true)
        {
            log::warn!("{}: filter use cannot be remembered: {error}", folder.path.display());
        }
    }

    fn collect(&self, folder: &Folder, waiting: Vec<StoredTable>) -> StoredHotness {
        let mut stored = StoredHotness {
            budget_bytes: self.manager.budget().limit_bytes() as u64,
            // Shared with other folders, if there are any: an upper bound then.
            other_bytes: self.manager.other_bytes() as u64,
            visits_per_lookup: visits_per_lookup(&self.manager).unwrap_or(0.0) as f32,
            known_absent_65536ths: (self.manager.known_absent_share() * 65_536.0) as u16, // saturates
            tables: waiting,
        };
        let tables = self.files.in_folder(folder);
        if lock(&folder.state).open_readers == 0 {
            // What the readers took until they closed just now.
            stored.other_bytes += (tables.len() * READER_BYTES) as u64;
        }
        for (id, file) in tables {
            let Some(uses) = self.manager.table_use(id) else { continue };
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
    /// There is something new to write.
    pub(crate) fn note_change(&self) {
        lock(&self.state).visits_saved = None;
    }
}

impl State {
    fn take_waiting(&mut self, stored_id: u128, file_number: u64) -> Option<Vec<SegmentUse>> {
        let is_it = |table: &StoredTable| table.id == stored_id;
        let exact = self.waiting.iter().position(|table| is_it(table) && table.file_number == file_number);
        let at = exact.or_else(|| self.waiting.iter().position(is_it))?;
        let table = self.waiting.swap_remove(at);
        if self.waiting.is_empty() {
            self.waiting = Vec::new();
            self.waiting_reservation = None;
        }
        Some(table.segments.into_iter().map(from_stored).collect())
    }
}

/// Visits to segments per lookup that met any, over all budgets of the process; `None` before the first one.
pub(crate) fn visits_per_lookup(manager: &Manager) -> Option<f64> {
    let lookups = ffi::digests_computed();
    (lookups > 0).then(|| manager.outcomes().visits() as f64 / lookups as f64)
}

fn exists(folder: &Path, file_number: u64) -> bool {
    ["sst", "ldb"].iter().any(|extension| folder.join(format!("{file_number:06}.{extension}")).exists())
}

fn to_stored(segment: SegmentUse) -> StoredSegment {
    let Hotness { access_count, negatives, wasted_reads } = segment.hotness;
    StoredSegment { access_count, negatives, wasted_reads, units: segment.units }
}

pub(crate) fn from_stored(segment: StoredSegment) -> SegmentUse {
    let StoredSegment { access_count, negatives, wasted_reads, units } = segment;
    SegmentUse { hotness: Hotness { access_count, negatives, wasted_reads }, units }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_databases_are_told_from_other_files() {
        let place =
            |path: &str| place_of(Path::new(path)).map(|(folder, number)| (folder.to_owned(), number));
        assert_eq!(place("/db/000012.sst"), Some(("/db".into(), 12)));
        assert_eq!(place("7.ldb"), Some((".".into(), 7)));
        for other in ["/db/new.sst", "/db/000012.log", "/db/", ""] {
            assert_eq!(place(other), None, "{other}");
        }
    }
}
