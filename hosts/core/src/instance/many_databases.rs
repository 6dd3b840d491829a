//! Tests with several databases, of which some are looked up.

use std::{
    fs::{self, File},
    os::unix::ffi::OsStrExt,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant, UNIX_EPOCH},
};

use springbloom_format::{BlockHeader, StoredHotness};
use springbloom_manager::{BytewiseComparator, KnownTable, Outcome, SegmentUse};
use tempfile::TempDir;

use super::Filters;
use crate::{
    engine::{
        OwnedHead, RowCache,
        test_engine::{LentFile, TEST_ENGINE, lent, no_files},
    },
    settings::Settings,
    tables::{
        databases::ColumnFamily,
        open_table::{self, OpenError, OpenTable, Opening},
        unit_builder::UnitBuilder,
    },
    warm_start::hotness_file::{read, replace},
};

const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A database that is open for writing.
struct Store<'f> {
    filters: &'f Filters,
    family: Arc<ColumnFamily>,
    tables: Vec<OpenTable>,
    _lock: File,
}

impl<'f> Store<'f> {
    fn open(filters: &'f Filters, folder: &TempDir) -> Self {
        let path = folder.path();
        fs::write(path.join("CURRENT"), "").expect("write");
        let lock = File::create(path.join("LOCK")).expect("create");
        let bytes = path.as_os_str().as_bytes();
        let family =
            filters.tables.databases.open(bytes, bytes, true, RowCache::default(), no_files(&Arc::default()));
        Self { filters, family, tables: Vec::new(), _lock: lock }
    }

    /// Writes the table with that number, if it is new, and opens it.
    fn open_table(&mut self, folder: &TempDir, number: u64) {
        self.try_to_open_table(folder, number).expect("there is room");
    }

    fn try_to_open_table(&mut self, folder: &TempDir, number: u64) -> Result<(), OpenError> {
        let path = folder.path().join(format!("{number:06}.sst"));
        fs::write(&path, "").expect("write");
        let session = folder.path().as_os_str().as_bytes();
        let mut builder = UnitBuilder::new(
            &self.filters.settings,
            &self.filters.tables.builder_bytes,
            true,
            session,
            number,
        );
        (0..100u32).for_each(|key| builder.add(&key.to_be_bytes(), 100));
        let block = builder.finish();
        let head_bytes = BlockHeader::parse(block).expect("a block").head_bytes() as usize;
        let head =
            || OwnedHead { bytes: block[..head_bytes].to_vec(), block_offset: 0, session: session.to_vec() };
        let opening = Opening {
            tables: self.filters.tables.clone(),
            family: self.family.clone(),
            path: path.into(),
            file_number: number,
            is_of_prefixes: false,
            level: Some(1),
            is_bytewise: true,
            file: lent(&LentFile::new(head(), || 0)),
            index_bytes: 0,
            number: AtomicU64::new(0),
        };
        let (table, opened) = open_table::open(opening, &BytewiseComparator, Ok(head()));
        self.tables.extend(table);
        opened
    }

    fn look_up(&self) {
        let handles = self.tables.iter().map(|table| table.handle().expect("it is open"));
        handles.for_each(|handle| handle.record(0, Outcome::Rejected));
    }

    /// As an engine does: it calls all tables obsolete.
    fn close(self) {
        let Self { filters, family, tables, _lock } = self;
        tables.into_iter().for_each(|table| table.close(&filters.tables, true));
        filters.tables.close_column_family(&family, true);
    }
}

fn filters() -> Arc<Filters> {
    let hour = Some(Duration::from_secs(3600));
    let settings = Settings { warm_start_every: hour, ..Settings::default() };
    Filters::start(settings, &TEST_ENGINE).expect("the settings are sound")
}

/// Whether each folder's hotness file was written since the last call.
fn are_written<const N: usize>(folders: &[TempDir; N]) -> [bool; N] {
    folders.each_ref().map(|folder| {
        let Ok(file) = File::options().write(true).open(folder.path().join("HOTNESS")) else { return false };
        let modified = file.metadata().and_then(|file| file.modified()).expect("Linux tells it");
        file.set_modified(UNIX_EPOCH).expect("it is ours");
        modified != UNIX_EPOCH
    })
}

fn wait_while(is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while is_so() {
        assert!(begun.elapsed() < IDLE_TIMEOUT, "the threads that touch files do nothing");
        std::thread::yield_now();
    }
}

fn save_all(filters: &Filters) {
    assert!(filters.wait_idle(IDLE_TIMEOUT));
    filters.tables.save_all();
    wait_while(|| filters.tables.is_saving());
}

#[test]
fn only_what_changed_is_written_and_that_is_judged_by_the_databases_own_visits() {
    let filters = filters();
    let folders = [(); 5].map(|()| tempfile::tempdir().expect("a temporary folder"));
    let mut stores = folders.each_ref().map(|folder| {
        let mut store = Store::open(&filters, folder);
        (1..=3).for_each(|number| store.open_table(folder, number));
        store
    });
    save_all(&filters);
    assert_eq!(are_written(&folders), [false; 5], "nothing is known of them");
    stores.iter().for_each(Store::look_up);
    save_all(&filters);
    assert_eq!(are_written(&folders), [true; 5]);

    stores[0].look_up();
    save_all(&filters);
    assert_eq!(are_written(&folders), [true, false, false, false, false]);

    // The others are closed while the first one is looked up.
    stores[0].look_up();
    stores[1].open_table(&folders[1], 4);
    stores[2].look_up();
    let [busy, rest @ ..] = stores;
    rest.into_iter().for_each(Store::close);
    assert_eq!(are_written(&folders), [false, true, true, false, false], "a new table, and the last lookup");
    assert_eq!(filters.stats().tables, 3, "those of the others are forgotten");
    save_all(&filters);
    assert_eq!(are_written(&folders), [true, false, false, false, false]);
    busy.close();

    let mut again = Store::open(&filters, &folders[2]);
    (1..=3).for_each(|number| again.open_table(&folders[2], number));
    save_all(&filters);
    again.close();
    assert_eq!(are_written(&folders), [false; 5], "all of it was remembered");
}

/// Visits of each table that are known.
fn known_visits(store: &Store<'_>) -> Vec<f32> {
    let mut visits = Vec::new();
    let take = |_: KnownTable<'_>, segments: Vec<SegmentUse>| visits.push(segments[0].hotness.access_count);
    store.filters.tables.manager.visit_uses(store.family.database.scopes(), take);
    visits
}

#[test]
fn what_is_remembered_of_a_table_outlives_an_opening_without_room() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let first = filters();
    let mut store = Store::open(&first, &folder);
    store.open_table(&folder, 1);
    (0..100).for_each(|_| store.look_up());
    assert!(first.wait_idle(IDLE_TIMEOUT));
    let known = known_visits(&store);
    store.close();
    // The least budget has no room for what the file tells, the next ones have none for the table.
    for more_bytes in [0, 64, 96, 128] {
        let filters = filters();
        filters.set_budget_bytes(0).expect("a budget");
        let buffers = filters.stats().used.buffers;
        filters.set_budget_bytes((buffers + more_bytes) as u64).expect("a budget");
        let mut store = Store::open(&filters, &folder);
        assert_eq!(store.try_to_open_table(&folder, 1), Err(OpenError::NoRoom), "{more_bytes}");
        // Nothing that is known yet replaces the file.
        store.close();
        let mut store = Store::open(&filters, &folder);
        assert_eq!(store.try_to_open_table(&folder, 1), Err(OpenError::NoRoom), "{more_bytes}");
        filters.set_budget_bytes(1 << 20).expect("a budget");
        wait_while(|| store.tables[0].handle().is_none());
        assert_eq!(known_visits(&store), known, "{more_bytes}");
        store.close();
    }
}

#[test]
fn two_openings_of_a_database_may_save_at_the_same_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("CURRENT"), "").expect("write");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    replace(&TEST_ENGINE, folder.path(), &StoredHotness::default()).expect("replace");
                    let read = read(&TEST_ENGINE, folder.path());
                    assert!(matches!(read, Ok(Some(_))), "{read:?}");
                }
            });
        }
    });
}
