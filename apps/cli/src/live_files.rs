//! The table files of a database on disk.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use rocksdb::{DB, LiveFile, Options};
use springbloom_console::bad_input;
use springbloom_rocksdb::usage::Usage;

/// The files of all column families. Opens the database read-only; it may be in use.
pub(crate) fn live_files(db: &Path) -> Result<Vec<LiveFile>> {
    if !db.join("CURRENT").is_file() {
        return Err(bad_input(format!("{} is not a RocksDB database: it has no file CURRENT", db.display())));
    }
    let cannot_open = || format!("{} cannot be opened as a RocksDB database", db.display());
    let families = DB::list_cf(&Options::default(), db).with_context(cannot_open)?;
    let opened = DB::open_cf_for_read_only(&Options::default(), db, families, false);
    Ok(opened.with_context(cannot_open)?.live_files()?)
}

/// The use that was saved beside the tables of the database `db`; `None` if there is none.
pub(crate) fn saved_use(db: &Path) -> Result<Option<Usage>> {
    Usage::of_folder(db).map_err(|error| match error {
        springbloom_rocksdb::Error::Table { .. } => {
            anyhow!("{error}; only a warm start needs this file: delete it, and the next start is cold")
        }
        other => other.into(),
    })
}

/// What `read` gives for a table file of the database `db`.
pub(crate) fn of_file<T>(
    db: &Path,
    file: &LiveFile,
    read: impl FnOnce(&Path) -> Result<T, springbloom_rocksdb::Error>,
) -> Result<T> {
    let path: PathBuf = db.join(file.name.trim_start_matches('/'));
    read(&path).map_err(|error| match path.try_exists() {
        Ok(false) => bad_input(format!(
            "{} is gone: the database is in use and has deleted the file since, so try again; or it keeps tables in another folder",
            path.display()
        )),
        _ => error.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure;

    #[test]
    fn a_table_that_is_deleted_meanwhile_is_no_damage() {
        let folder = tempfile::tempdir().expect("a folder");
        let db = DB::open_default(folder.path()).expect("a database");
        db.put(b"key", b"value").expect("put");
        db.flush().expect("flush");
        let files = live_files(folder.path()).expect("it may be in use");
        let read = |path: &Path| springbloom_rocksdb::inspect::table(path);
        assert_eq!(of_file(folder.path(), &files[0], read).expect("it is there").entries, 1);
        let table = folder.path().join(files[0].name.trim_start_matches('/'));
        std::fs::remove_file(table).expect("as a compaction of the process that has it open does");
        let error = of_file(folder.path(), &files[0], read).expect_err("it is gone");
        assert_eq!(failure::exit_code(&error), failure::EXIT_BAD_INPUT);
        assert!(failure::sentence(&error).contains("is gone"), "{error}");
    }
}
