//! What an open table with filter units takes beside what stock RocksDB keeps for it: the budget counts what the process allocates.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod common;

use std::{
    ops::Range,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rocksdb::{DB, Options};
use springbloom_rocksdb::{ElasticFilters, PolicyKind};

use common::{AMPLE_BYTES, IDLE_TIMEOUT, ample, folder, installed, unsafe_calls::malloc_bytes};

/// Bytes a table that are measured beside those that are counted. Not none: RocksDB's own allocations, which come in between, fit into
/// freed chunks less well than without filters, whatever ours are (what Rust allocates is counted to 1%:
/// `crates/manager/tests/overhead.rs`).
const BESIDE: Range<f64> = -20.0..120.0;

/// A database of many tables of `table_bytes` each.
fn options(table_bytes: u64) -> Options {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_target_file_size_base(table_bytes);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    // Each thread that opens tables would keep freed memory to itself.
    options.set_max_file_opening_threads(1);
    options
}

/// Bytes that opening a database takes of the process.
fn bytes_to_open(options: &Options, path: &Path, opened: impl FnOnce(&DB)) -> f64 {
    let before = malloc_bytes();
    let db = DB::open(options, path).expect("open");
    opened(&db);
    (malloc_bytes() - before) as f64
}

#[test]
fn what_open_tables_take_is_counted() {
    let _alone = alone();
    for (table_bytes, value_bytes, keys) in [(1 << 10, 1_000, 16_000u32), (64 << 10, 4_000, 16_000)] {
        let folder = folder();
        let (options, path) = (options(table_bytes), folder.path());
        {
            let db = DB::open(&installed(&ample(), &options), path).expect("open");
            // Twice, so that what compactions write is cut into tables.
            for _ in 0..2 {
                for number in 0..keys {
                    db.put(number.to_be_bytes(), vec![0; value_bytes]).expect("put");
                }
                db.flush().expect("flush");
            }
            db.compact_range(None::<&[u8]>, None::<&[u8]>);
        }
        let stock = bytes_to_open(&options, path, |_| ());
        let elastic = ElasticFilters::builder()
            .budget_bytes(AMPLE_BYTES)
            .policy(PolicyKind::Benefit)
            .build()
            .expect("the settings are sound");
        let options = installed(&elastic, &options);
        let before = elastic.stats();
        let mut after = None;
        let ours = bytes_to_open(&options, path, |_| {
            assert!(elastic.wait_idle(IDLE_TIMEOUT));
            after = Some(elastic.stats());
        });
        let after = after.expect("it was opened");
        let (tables, segments) = (after.tables as f64, after.segments as f64);
        assert!(tables > 800.0, "{tables} tables say little");
        let measured = (ours - stock) / tables;
        let counted = (after.used_bytes - before.used_bytes) as f64 / tables;
        let units = after.used.units as f64 / tables;
        let bookkeeping = (after.used.bookkeeping - before.used.bookkeeping) as f64 / tables;
        println!(
            "{tables} tables of {} segments: {measured:.0} bytes each, counted {counted:.0}: \
             units {units:.0}, bookkeeping {bookkeeping:.0}",
            segments / tables,
        );
        assert!(BESIDE.contains(&(measured - counted)), "{counted} counted of {measured} bytes a table");
    }
}

/// Bytes a table that a refused table takes beside what stock RocksDB keeps for it: a reader of 16 bytes in slabs of 4,096, what a
/// column family keeps, and what [`BESIDE`] is for.
const REFUSED: Range<f64> = -20.0..64.0;

#[test]
fn refused_tables_take_little() {
    let _alone = alone();
    let folder = folder();
    let (options, path) = (options(1 << 10), folder.path());
    {
        let db = DB::open(&installed(&ample(), &options), path).expect("open");
        for _ in 0..2 {
            for number in 0..16_000u32 {
                db.put(number.to_be_bytes(), vec![0; 1_000]).expect("put");
            }
            db.flush().expect("flush");
        }
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
    }
    let stock = bytes_to_open(&options, path, |_| ());
    // A budget of nothing, and one that the bookkeeping of few tables takes.
    for budget_bytes in [0, 9_000] {
        let elastic =
            ElasticFilters::builder().budget_bytes(budget_bytes).build().expect("the settings are sound");
        let options = installed(&elastic, &options);
        let before = elastic.stats();
        let (mut tables, mut after) = (0.0, None);
        let ours = bytes_to_open(&options, path, |db| {
            tables = db.live_files().expect("live_files").len() as f64;
            after = Some(elastic.stats());
        });
        let after = after.expect("it was opened");
        let counted = after.used_bytes as f64 - before.used_bytes as f64;
        let each = (ours - stock - counted) / tables;
        println!(
            "{tables} tables at a budget of {budget_bytes}: {each:.1} bytes each beside {counted} that are counted"
        );
        assert!(tables > 800.0 && (after.tables as f64) < tables / 4.0, "{after:?}");
        assert!(REFUSED.contains(&each), "{each} bytes a refused table");
    }
}

/// What this process allocates is for one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
