//! The table files that a database on disk consists of now.

use std::path::Path;

use anyhow::{Context, Result};
use rocksdb::{DB, LiveFile, Options};
use springbloom_console::bad_input;

/// The files of all column families. Opens the database read-only; it may be in use.
pub(crate) fn live_files(db: &Path) -> Result<Vec<LiveFile>> {
    if !db.join("CURRENT").is_file() {
        return Err(bad_input(format!("{} is not a RocksDB database: it has no file CURRENT", db.display())));
    }
    let cannot_open = || format!("cannot open {}", db.display());
    let families = DB::list_cf(&Options::default(), db).with_context(cannot_open)?;
    let opened = DB::open_cf_for_read_only(&Options::default(), db, families, false);
    Ok(opened.with_context(cannot_open)?.live_files()?)
}
