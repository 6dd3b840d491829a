//! Tables that are opened, read, closed, given up and dropped with their database while the budget moves, in any order.

use std::{
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rand::{Rng, RngExt};
use springbloom_format::BlockHeader;
use springbloom_manager::{BytewiseComparator, Chore, Place};
use springbloom_testkit::seed;

use super::Filters;
use crate::{
    engine::{
        OwnedHead, RowCache,
        test_engine::{LentFile, TEST_ENGINE, lent, no_files},
    },
    settings::{Budget, Settings},
    tables::{
        databases::ColumnFamily,
        open_table::{self, OpenError, OpenTable, Opening},
        unit_builder::UnitBuilder,
    },
};

const BUDGET_BYTES: u64 = 1 << 20;
const SESSION: &[u8] = b"session";

/// Header and directory of a table.
fn head(filters: &Filters, number: u64) -> OwnedHead {
    let memory = &filters.tables.builder_bytes;
    let mut builder = UnitBuilder::new(&filters.settings, memory, true, SESSION, number);
    (0..100u32).for_each(|key| builder.add(&key.to_be_bytes(), 100));
    let block = builder.finish();
    let head_bytes = BlockHeader::parse(block).expect("a block").head_bytes() as usize;
    OwnedHead { bytes: block[..head_bytes].to_vec(), block_offset: 0, session: SESSION.to_vec() }
}

/// A file whose reads take a while and fail at times.
fn file(filters: &Filters, number: u64, rng: &mut impl Rng) -> Arc<LentFile> {
    let (micros, fails) = (rng.random_range(0..3_000), AtomicI64::new(rng.random_range(0..3)));
    let read = move || {
        thread::sleep(Duration::from_micros(micros));
        if fails.fetch_sub(1, Ordering::Relaxed) > 0 { 4 } else { 0 }
    };
    LentFile::new(head(filters, number), read)
}

/// A column family of the database. `shares`: in its files, that were not given back.
fn family(filters: &Filters, shares: &Arc<AtomicI64>) -> Arc<ColumnFamily> {
    filters.tables.databases.open(SESSION, b"/nowhere", true, RowCache::default(), no_files(shares))
}

fn open(
    filters: &Filters,
    family: &Arc<ColumnFamily>,
    file: &Arc<LentFile>,
    number: u64,
    why: Option<OpenError>,
) -> OpenTable {
    let opening = Opening {
        tables: filters.tables.clone(),
        family: family.clone(),
        path: PathBuf::from(format!("/nowhere/{number:06}.sst")).into(),
        file_number: number,
        level: Some(1),
        is_of_prefixes: false,
        is_bytewise: true,
        file: lent(file),
        index_bytes: 0,
        number: AtomicU64::new(0),
    };
    let OwnedHead { bytes, block_offset, session } = &file.head;
    let head = OwnedHead { bytes: bytes.clone(), block_offset: *block_offset, session: session.clone() };
    open_table::open(opening, &BytewiseComparator, why.map_or(Ok(head), Err))
        .0
        .expect("it has units, or waits for them")
}

/// One life of a database. Prints nothing but what is wrong.
fn live(filters: &Filters, rng: &mut impl Rng) {
    let family = family(filters, &Arc::default());
    let files: Vec<_> = (1..=16).map(|number| file(filters, number, rng)).collect();
    let mut tables = Vec::new();
    for (number, file) in (1..).zip(&files) {
        let why = match rng.random_range(0..4) {
            0 => None,
            1 => Some(OpenError::NoRoom),
            2 => Some(OpenError::Corrupt),
            _ => Some(OpenError::Unreadable),
        };
        tables.push(open(filters, &family, file, number, why));
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for budget_bytes in [0, BUDGET_BYTES] {
                    filters.set_budget_bytes(budget_bytes).expect("a budget");
                    thread::sleep(Duration::from_micros(700));
                    let stats = filters.stats();
                    let waiting = stats.tables_without_room.max(stats.failing_tables);
                    assert!(waiting <= files.len(), "{waiting} of {} tables wait", files.len());
                }
            }
        });
        while !tables.is_empty() {
            thread::sleep(Duration::from_micros(rng.random_range(0..1_500)));
            let table = tables.swap_remove(rng.random_range(0..tables.len()));
            if rng.random() {
                table.give_up();
            }
            let late = match &table {
                OpenTable::Late(table) => Arc::downgrade(table),
                OpenTable::Open(_) => Weak::new(),
            };
            let is_obsolete = rng.random();
            table.close(&filters.tables, is_obsolete);
            // A thread that is at its read may have it for a moment; it opens it no more.
            if let Some(table) = late.upgrade() {
                let has_units = table.handle().is_some();
                thread::sleep(Duration::from_millis(5));
                assert_eq!(table.handle().is_some(), has_units, "a closed table was opened");
            }
        }
        let may_wait = rng.random();
        filters.tables.close_column_family(&family, may_wait);
        let shares = || files.iter().map(|file| file.shares.load(Ordering::SeqCst)).sum::<i64>();
        assert!(!may_wait || shares() == 0, "the end of the database waits for reads");
        let begun = Instant::now();
        while shares() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} shares are kept", shares());
            thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let stats = filters.stats();
    assert_eq!(
        (stats.tables, stats.tables_without_room, stats.failing_tables, stats.thread_panics),
        (0, 0, 0, 0)
    );
}

#[test]
fn no_order_of_events_opens_a_closed_table_or_keeps_a_share_in_a_file() {
    let mut rng = seed::rng("no_order_of_events_opens_a_closed_table_or_keeps_a_share_in_a_file");
    let settings =
        Settings { budget: Budget::Bytes(BUDGET_BYTES), warm_start_every: None, ..Settings::default() };
    let filters = Filters::start(settings, &TEST_ENGINE).expect("the settings are sound");
    for _ in 0..100 {
        live(&filters, &mut rng);
    }
}

/// The engine's adapter saw that there was no budget.
#[test]
fn a_table_that_was_refused_just_before_the_budget_grew_gets_its_units() {
    let mut rng = seed::rng("a_table_that_was_refused_just_before_the_budget_grew");
    let settings = Settings { budget: Budget::Bytes(0), warm_start_every: None, ..Settings::default() };
    let filters = Filters::start(settings, &TEST_ENGINE).expect("the settings are sound");
    let family = family(&filters, &Arc::default());
    let file = file(&filters, 1, &mut rng);
    filters.set_budget_bytes(BUDGET_BYTES).expect("a budget");
    let table = open(&filters, &family, &file, 1, Some(OpenError::NoRoom));
    let begun = Instant::now();
    while table.handle().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it waits for more room than there is");
        thread::yield_now();
    }
    table.close(&filters.tables, false);
    filters.tables.close_column_family(&family, true);
}

/// As many chores as there are threads, and more, do nothing and do not end.
struct Hanging(Arc<AtomicBool>);

impl Hanging {
    fn all_threads(filters: &Filters) -> Self {
        let (hang, begun) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicI64::new(0)));
        for place in 100..132 {
            let (hang, begun) = (hang.clone(), begun.clone());
            filters.tables.manager.run(Chore::new(Place { device: place, source: place }, move || {
                begun.fetch_add(1, Ordering::SeqCst);
                while hang.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
            }));
        }
        while begun.load(Ordering::SeqCst) < 16 {
            thread::yield_now();
        }
        Self(hang)
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[test]
fn a_closed_database_keeps_nothing_of_the_engine_while_its_chores_wait_for_stores_that_hang() {
    let mut rng = seed::rng("a_closed_database_keeps_nothing");
    let settings =
        Settings { budget: Budget::Bytes(BUDGET_BYTES), warm_start_every: None, ..Settings::default() };
    let filters = Filters::start(settings, &TEST_ENGINE).expect("the settings are sound");
    let shares = Arc::default();
    let family = family(&filters, &shares);
    let file = file(&filters, 1, &mut rng);
    open(&filters, &family, &file, 1, None).close(&filters.tables, false);
    let _hanging = Hanging::all_threads(&filters);
    filters.tables.manager.notices().warn("something".into());
    filters.tables.databases.tell_in_background(&filters.tables.manager);
    filters.tables.forget_deleted();
    let waits = open(&filters, &family, &file, 1, Some(OpenError::Unreadable));
    assert_eq!((shares.load(Ordering::SeqCst), file.shares.load(Ordering::SeqCst)), (1, 1));
    waits.close(&filters.tables, false);
    filters.tables.close_column_family(&family, true);
    assert_eq!((shares.load(Ordering::SeqCst), file.shares.load(Ordering::SeqCst)), (0, 0));
}
