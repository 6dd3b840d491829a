//! One folder of tables of a database, and its hotness file.
//!
//! Entries of tables that are not open yet are kept, charged to the budget, and written again as long as the tables' files exist.
//! Invariants: no failure here fails an open or a close; nothing here is on the path of a lookup.

use std::{
    collections::BTreeMap,
    fs, mem,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use springbloom_format::{StoredHotness, StoredSegment, StoredTable};
use springbloom_manager::{Manager, Notices, Reservation, SegmentUse};

use super::hotness_file::{self, from_stored};
use crate::engine::Engine;

/// One folder of tables of a database.
#[derive(Debug)]
pub(crate) struct Folder {
    engine: &'static Engine,
    path: PathBuf,
    state: Mutex<State>,
    /// Something changed since the folder was written last.
    is_changed: AtomicBool,
    /// What changed is about to be written.
    is_saving: AtomicBool,
    /// Whether the lock file of the database is held here. Empty: not known yet.
    is_lock_held: OnceLock<bool>,
}

/// Identity of a table, and number of its file.
type EntryKey = (u64, u64);

/// What the file tells of a table.
pub(crate) struct Remembered {
    pub(crate) key: EntryKey,
    pub(crate) segments: Vec<SegmentUse>,
}

/// What became of the file.
#[derive(Debug, Default)]
enum FileState {
    #[default]
    Unread,
    /// The budget lacked room for what it tells, which takes this many bytes. It is read when there is room, and not replaced until then.
    NoRoom { bytes: usize },
    /// Nothing more can be had of it.
    Read,
}

#[derive(Debug, Default)]
struct State {
    file: FileState,
    /// Tables of the file that were not opened yet.
    waiting: BTreeMap<EntryKey, Vec<StoredSegment>>,
    waiting_reservation: Option<Reservation>,
    /// There is a file, so that a next start is not cold as it is.
    has_file: bool,
    has_failed: bool,
}

impl Folder {
    pub(crate) fn new(engine: &'static Engine, path: &Path) -> Self {
        Self {
            engine,
            path: path.to_owned(),
            state: Mutex::default(),
            is_changed: AtomicBool::new(false),
            is_saving: AtomicBool::new(false),
            is_lock_held: OnceLock::new(),
        }
    }

    /// A table's entry in the file, which is read when the first one is asked for. It stays until it is [forgotten](Self::forget).
    pub(crate) fn remembered(
        &self,
        manager: &Manager,
        stored_id: u64,
        file_number: u64,
    ) -> Option<Remembered> {
        let mut state = self.state.lock();
        if !matches!(state.file, FileState::Read)
            && let Err(why) = self.load(manager, &mut state)
        {
            manager.notices().warn(why);
        }
        state.remembered(stored_id, file_number)
    }

    /// A table is open with its entry. Waits for no read: what is remembered was read before.
    pub(crate) fn forget(&self, key: EntryKey) {
        self.state.lock().forget(key);
    }

    /// Whether there is a file. Without one, there is nothing to keep until lookups come.
    pub(crate) fn has_file(&self) -> bool {
        self.state.lock().has_file
    }

    /// Something changed that its file does not tell.
    pub(crate) fn note_change(&self) {
        self.is_changed.store(true, Ordering::Release);
    }

    /// Whether the lock file of the database is held here. Accesses the file system, once.
    pub(crate) fn is_lock_held(&self) -> bool {
        *self.is_lock_held.get_or_init(|| is_held(self.engine, &self.path))
    }

    /// The same, if that is known.
    pub(crate) fn known_lock(&self) -> Option<bool> {
        self.is_lock_held.get().copied()
    }

    /// Errs with why the start is cold, once for each reason.
    fn load(&self, manager: &Manager, state: &mut State) -> Result<(), String> {
        if let FileState::NoRoom { bytes } = state.file
            && manager.reserve(bytes).is_none()
        {
            return Ok(());
        }
        let before = mem::replace(&mut state.file, FileState::Read);
        let read = hotness_file::read(self.engine, &self.path);
        let stored = read.map_err(|error| {
            format!("what was remembered of filter use is not usable, a cold start: {error}")
        })?;
        let Some(stored) = stored else { return Ok(()) };
        state.has_file = true;
        let segments: usize = stored.tables.iter().map(|table| table.segments.len()).sum();
        let bytes = segments * size_of::<StoredSegment>() + stored.tables.len() * size_of::<StoredTable>();
        state.waiting_reservation = manager.reserve(bytes);
        if state.waiting_reservation.is_none() {
            state.file = FileState::NoRoom { bytes };
            let path = self.path.display();
            let why = "no room in the filter budget for what was remembered of filter use, a cold start until there is";
            return if matches!(before, FileState::Unread) { Err(format!("{path}: {why}")) } else { Ok(()) };
        }
        let tables = stored.tables.into_iter();
        state.waiting = tables.map(|table| ((table.id, table.file_number), table.segments)).collect();
        Ok(())
    }

    /// Whether something changed that its file does not tell, and is to be written now. Then one of the calls below follows.
    pub(crate) fn begin_save(&self) -> bool {
        // Unless an earlier save waits for its turn, or hangs.
        if self.is_saving.swap(true, Ordering::AcqRel) {
            return false;
        }
        let begins = self.is_changed.swap(false, Ordering::AcqRel);
        self.is_saving.store(begins, Ordering::Release);
        begins
    }

    /// Whether what changed is about to be written.
    #[cfg(test)]
    pub(crate) fn is_saving(&self) -> bool {
        self.is_saving.load(Ordering::Acquire)
    }

    /// Writes the file, with what is remembered of tables that were not opened, if the lock file is held here.
    pub(crate) fn save(&self, notices: &Notices, stored: StoredHotness) {
        if self.is_lock_held() {
            self.write(notices, stored);
        }
        self.is_saving.store(false, Ordering::Release);
    }

    /// As [`save`](Self::save), where something changed. The database is closed: no other save is under way, nor will one that was about
    /// to be made.
    pub(crate) fn save_last(&self, notices: &Notices, collect: impl FnOnce() -> StoredHotness) {
        // In this order: a save that begins meanwhile has one of them set all the time.
        let is_unsaved = self.is_changed.load(Ordering::Acquire) || self.is_saving.load(Ordering::Acquire);
        if is_unsaved && self.is_lock_held() {
            self.write(notices, collect());
        }
    }

    fn write(&self, notices: &Notices, mut stored: StoredHotness) {
        if matches!(self.state.lock().file, FileState::NoRoom { .. }) {
            return self.note_change(); // the next save tries again
        }
        stored.tables.splice(..0, self.waiting());
        let is_used = |table: &StoredTable| table.segments.iter().any(|segment| segment.access_count > 0.0);
        if !stored.tables.iter().any(is_used) {
            return;
        }
        let replaced = hotness_file::replace(self.engine, &self.path, &stored);
        let mut state = self.state.lock();
        match replaced {
            Ok(()) => state.has_file = true,
            Err(error) => {
                // The next save tries again.
                self.note_change();
                if !mem::replace(&mut state.has_failed, true) {
                    let path = self.path.display();
                    notices.warn(format!("{path}: filter use cannot be remembered: {error}"));
                }
            }
        }
    }

    /// What is remembered of tables that were not opened and whose files exist.
    fn waiting(&self) -> Vec<StoredTable> {
        // Looked for without the lock: a table that is opened waits for none.
        let mut gone: Vec<_> = self.state.lock().waiting.keys().copied().collect();
        gone.retain(|&(_, file_number)| !self.engine.has_table(&self.path, file_number));
        let mut state = self.state.lock();
        gone.iter().for_each(|key| _ = state.waiting.remove(key));
        let table = |(&(id, file_number), segments): (&_, &Vec<_>)| StoredTable {
            id,
            file_number,
            segments: segments.clone(),
        };
        state.waiting.iter().map(table).collect()
    }
}

impl State {
    /// A table's entry in the file. If several have its identity: the one with its file number.
    fn remembered(&self, stored_id: u64, file_number: u64) -> Option<Remembered> {
        let exact = (stored_id, file_number);
        let key = match self.waiting.contains_key(&exact) {
            true => exact,
            false => *self.waiting.range((stored_id, 0)..=(stored_id, u64::MAX)).next()?.0,
        };
        let segments = self.waiting.get(&key)?.iter().copied().map(from_stored).collect();
        Some(Remembered { key, segments })
    }

    fn forget(&mut self, key: EntryKey) {
        self.waiting.remove(&key);
        if self.waiting.is_empty() {
            self.waiting_reservation = None;
        }
    }
}

/// Whether this process has the database in the folder open for writing. An engine then keeps the lock file open, and it opens none for
/// reading only. Also `true` where the system does not tell. Compares the names of the files that this process has open: to look at the
/// files themselves would touch those of other databases.
fn is_held(engine: &Engine, folder: &Path) -> bool {
    let Ok(lock) = fs::canonicalize(folder.join(engine.lock_file.text())) else { return false };
    let Ok(open) = fs::read_dir("/proc/self/fd") else { return true };
    open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|path| path == lock))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, os::unix::fs::symlink, time::Duration};

    use springbloom_testkit::cpu_time::{TICK, cpu_time};

    use super::*;
    use crate::engine::test_engine::TEST_ENGINE;

    /// What the `n`-th table was remembered with.
    fn segments(n: u64) -> Vec<StoredSegment> {
        vec![StoredSegment { access_count: n as f32, negatives: 0.0, wasted_reads: 0.0, units: 1 }]
    }

    fn waiting(tables: impl Iterator<Item = (u64, u64)>) -> State {
        State { waiting: tables.zip(0..).map(|(key, n)| (key, segments(n))).collect(), ..State::default() }
    }

    /// Takes an entry out.
    fn take(state: &mut State, stored_id: u64, file_number: u64) -> Option<f32> {
        let Remembered { key, segments } = state.remembered(stored_id, file_number)?;
        state.forget(key);
        Some(segments[0].hotness.access_count)
    }

    #[test]
    fn of_tables_with_one_identity_that_with_the_file_number_is_taken_first() {
        // A table that was copied under another number, as an import does.
        let mut state = waiting([(7, 1), (7, 2), (7, 3), (8, 9)].into_iter());
        assert_eq!(take(&mut state, 7, 2), Some(1.0));
        assert_eq!(take(&mut state, 7, 100), Some(0.0));
        assert_eq!(take(&mut state, 7, 100), Some(2.0));
        assert_eq!(take(&mut state, 7, 3), None, "all of that identity were taken");
        assert_eq!(take(&mut state, 8, 100), Some(3.0));
    }

    /// Takes that many tables, each by its identity alone as after a move of the database, from the last to the first.
    fn taking_all(tables: u64) -> Duration {
        let mut state = waiting((0..tables).map(|n| (n, n)));
        let begun = cpu_time();
        for n in (0..tables).rev() {
            assert_eq!(take(&mut state, n, u64::MAX), Some(n as f32));
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

    #[test]
    fn a_file_that_was_not_read_for_want_of_room_is_replaced_later() {
        let place = tempfile::tempdir().expect("folder");
        std::fs::write(place.path().join(TEST_ENGINE.database_file.text()), "").expect("write");
        let folder = Folder::new(&TEST_ENGINE, place.path());
        folder.is_lock_held.set(true).expect("it was not looked for");
        let table = StoredTable { id: 1, file_number: 1, segments: segments(1) };
        let used = StoredHotness { tables: vec![table], ..StoredHotness::default() };
        folder.note_change();
        let are_written = [FileState::NoRoom { bytes: 1 }, FileState::Read].map(|file| {
            folder.state.lock().file = file;
            assert!(folder.begin_save(), "there is nothing to save");
            folder.save(&Notices::default(), used.clone());
            place.path().join(TEST_ENGINE.hotness_file.text()).exists()
        });
        assert_eq!(are_written, [false, true]);
    }

    #[test]
    fn a_lock_is_held_while_it_is_open_here() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("folder"));
        let are_held = || folders.each_ref().map(|folder| is_held(&TEST_ENGINE, folder.path()));
        let lock = |at: usize| File::create(folders[at].path().join("LOCK")).expect("create");
        assert_eq!(are_held(), [false, false]);
        let second = lock(1);
        drop(lock(0));
        assert_eq!(are_held(), [false, true]);
        let link = folders[0].path().join("link");
        symlink(folders[1].path(), &link).expect("a link");
        assert!(is_held(&TEST_ENGINE, &link), "whatever leads there");
        let _first = lock(0);
        drop(second);
        assert_eq!(are_held(), [true, false]);
    }
}
