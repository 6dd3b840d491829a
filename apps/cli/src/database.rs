//! A database on disk, which may be in use: its tables and their saved use. Reads files alone, one at a time, and writes nothing.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use springbloom_console::{bad_input, output};
use springbloom_rocksdb::listed_tables::{self, ListedTable};
use springbloom_rocksdb::usage::Usage;
use springbloom_rocksdb::{Error, HOTNESS_FILE_NAME};

use crate::failure;

/// Which database.
#[derive(Args, Debug)]
pub(crate) struct Database {
    /// Folder of a RocksDB database; it may be in use
    db: PathBuf,
    /// Another folder with tables of the database (its `db_paths` and `cf_paths`); give it once for each
    #[arg(long, value_name = "FOLDER")]
    tables_in: Vec<PathBuf>,
}

/// What was read of a table.
pub(crate) enum Read<T> {
    Done(T),
    /// There is no such file.
    Gone,
    /// The file is not what the database wrote.
    Damaged(Error),
}

impl Database {
    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.db
    }

    /// Refuses what is no database.
    pub(crate) fn require_database(&self) -> Result<()> {
        let there = self.db.display();
        if self.db.exists() && !self.db.is_dir() {
            return Err(bad_input(format!("{there} is a file: expected the folder of a RocksDB database")));
        }
        match self.db.join("CURRENT").metadata() {
            Ok(current) if current.is_file() => Ok(()),
            Ok(_) => Err(bad_input(format!(
                "{there} is not a RocksDB database: its CURRENT is not a regular file"
            ))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(bad_input(format!("{there} is not a RocksDB database: it has no file CURRENT")))
            }
            Err(error) => Err(error).context(format!("{there} cannot be read")),
        }
    }

    /// Its tables by level and number.
    pub(crate) fn tables(&self) -> Result<Vec<ListedTable>> {
        self.require_database()?;
        if let Some(folder) = self.tables_in.iter().find(|folder| !folder.is_dir()) {
            return Err(bad_input(format!("--tables-in {}: there is no such folder", folder.display())));
        }
        let mut tables = listed_tables::of_database(&self.db).map_err(|error| {
            let said = format!("{} cannot be read as a RocksDB database: {error}", self.db.display());
            if failure::is_refused(&said) { bad_input(said) } else { anyhow!(said) }
        })?;
        tables.sort_by_key(|table| (table.level, table.number));
        Ok(tables)
    }

    /// The use that was saved next to the tables, if there is one, or what is wrong with it.
    pub(crate) fn saved_use(&self) -> (Option<Usage>, Option<anyhow::Error>) {
        let advice = "only a warm start needs this file: delete it, and the next start is cold";
        match Usage::of_folder(&self.db) {
            Ok(usage) => (usage, None),
            Err(error @ Error::Table { .. }) => (None, Some(anyhow!("{error}; {advice}"))),
            Err(error) => (None, Some(error.into())),
        }
    }

    /// How old the saved use is.
    pub(crate) fn saved_ago(&self) -> Option<Duration> {
        let saved = self.db.join(HOTNESS_FILE_NAME).metadata().ok()?.modified().ok()?;
        Some(saved.elapsed().unwrap_or_default()) // clocks may differ
    }

    /// What `read` gives for the file of a table.
    ///
    /// # Errors
    /// A file that may not be read.
    pub(crate) fn read<T>(
        &self,
        table: &ListedTable,
        read: impl Fn(&Path) -> Result<T, Error>,
    ) -> Result<Read<T>> {
        for folder in [&self.db].into_iter().chain(&self.tables_in) {
            let path = folder.join(table.file_name());
            match read(&path) {
                Ok(read) => return Ok(Read::Done(read)),
                Err(_) if matches!(path.try_exists(), Ok(false)) => {}
                Err(error) if failure::is_forbidden(&error.to_string()) => {
                    return Err(bad_input(error.to_string()));
                }
                Err(error) => return Ok(Read::Damaged(error)),
            }
        }
        Ok(Read::Gone)
    }

    /// Tells how many of the tables that were gone a compaction had deleted since they were listed.
    ///
    /// # Errors
    /// Tables that are missing: the database lists them still.
    pub(crate) fn explain_gone(&self, gone: &[ListedTable]) -> Result<()> {
        if gone.is_empty() {
            return Ok(());
        }
        let listed: HashSet<u64> = self.tables()?.iter().map(|table| table.number).collect();
        let missing: Vec<_> = gone.iter().filter(|table| listed.contains(&table.number)).collect();
        if let Some(first) = missing.first() {
            return Err(bad_input(format!(
                "{}: {} of the tables that it lists have no file, first {}: if it keeps tables in other folders (`db_paths`, `cf_paths`), \
                 name them with --tables-in",
                self.db.display(),
                missing.len(),
                first.file_name().display(),
            )));
        }
        output::warn(format_args!(
            "{}: {} tables were deleted by a compaction while this ran; neither they nor what replaced them is in the report",
            self.db.display(),
            gone.len()
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rocksdb::{DB, Options};
    use springbloom_console::failure::{EXIT_BAD_INPUT, sentence};
    use springbloom_rocksdb::inspect;

    use super::*;

    fn in_folder(folder: &Path) -> Database {
        Database { db: folder.to_owned(), tables_in: Vec::new() }
    }

    #[test]
    fn a_table_that_a_compaction_deletes_meanwhile_is_told_from_a_missing_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_disable_auto_compactions(true);
        let db = DB::open(&options, folder.path()).expect("a database");
        for value in ["first", "second"] {
            db.put(b"first key", value).expect("put");
            db.put(b"last key", value).expect("put");
            db.flush().expect("flush");
        }
        let database = in_folder(folder.path());
        let listed = database.tables().expect("it may be in use");
        let entries = |table| match database.read(table, inspect::table).expect("a table") {
            Read::Done(report) => Some(report.entries),
            Read::Gone => None,
            Read::Damaged(error) => panic!("{error}"),
        };
        assert_eq!([entries(&listed[0]), entries(&listed[1])], [Some(2), Some(2)]);
        db.compact_range(None::<&[u8]>, None::<&[u8]>);
        drop(db); // the old files are deleted now, if not before
        assert_eq!([entries(&listed[0]), entries(&listed[1])], [None, None]);
        database.explain_gone(&listed).expect("it was a compaction");

        let compacted = database.tables().expect("it may be closed");
        assert_eq!(compacted.len(), 1);
        std::fs::remove_file(folder.path().join(compacted[0].file_name())).expect("a careless administrator");
        assert_eq!(entries(&compacted[0]), None);
        let error = database.explain_gone(&compacted).expect_err("it is missing");
        assert_eq!(failure::exit_code(&error), EXIT_BAD_INPUT);
        assert!(sentence(&error).contains("--tables-in"), "{error}");
    }
}
