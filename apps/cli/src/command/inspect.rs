//! `springbloom inspect`: what filter units a database has on disk, and whether they are sound.

use std::io::stdout;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use rocksdb::{DB, LiveFile, Options};
use springbloom_rocksdb::inspect;

use crate::failure::bad_input;
use crate::report::inspection::{Inspection, Table};

/// Show the filter units of a database by table and level, and verify their checksums
#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// Folder of a RocksDB database; it is opened read-only and may be in use
    db: PathBuf,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

impl Inspect {
    /// Inspects all tables and prints the report.
    ///
    /// # Errors
    /// A database that cannot be opened; corrupt units, after the report.
    pub(crate) fn run(&self) -> Result<()> {
        let mut tables = Vec::new();
        for file in self.live_files()? {
            let path = self.db.join(file.name.trim_start_matches('/'));
            let report = inspect::table(&path)?;
            tables.push(Table::new(&file, report));
        }
        tables.sort_by(|a, b| (a.level, &a.name).cmp(&(b.level, &b.name)));
        let inspection = Inspection::new(tables);
        let mut out = stdout().lock();
        if self.json {
            inspection.write_json(&mut out)?
        } else {
            inspection.write_tables(&mut out)?
        }
        anyhow::ensure!(
            inspection.sound(),
            "{}: some filter units are damaged; lookups pass them by",
            self.db.display()
        );
        Ok(())
    }

    fn live_files(&self) -> Result<Vec<LiveFile>> {
        if !self.db.join("CURRENT").is_file() {
            return Err(bad_input(format!(
                "{} is not a RocksDB database: it has no file CURRENT",
                self.db.display()
            )));
        }
        let mut files = Vec::new();
        let families = DB::list_cf(&Options::default(), &self.db)
            .with_context(|| format!("cannot open {}", self.db.display()))?;
        let db = DB::open_cf_for_read_only(&Options::default(), &self.db, families, false)
            .with_context(|| format!("cannot open {}", self.db.display()))?;
        files.extend(db.live_files()?);
        Ok(files)
    }
}
