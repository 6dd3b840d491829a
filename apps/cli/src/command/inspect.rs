//! `springbloom inspect`: the filter units of a database on disk, and their checksums.

mod heat_map;
mod inspection;
mod plot;

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use rocksdb::LiveFile;
use springbloom_console::Step;
use springbloom_console::bad_input;
use springbloom_console::{output, picture};
use springbloom_rocksdb::inspect;

use self::heat_map::HeatMap;
use self::inspection::{Inspection, Table};
use crate::live_files::{live_files, of_file, saved_use};

/// Show the filter units of a database by table and level, and verify their checksums
#[derive(Args, Debug)]
pub(crate) struct Inspect {
    /// Folder of a RocksDB database, opened read-only; it may be open elsewhere
    db: PathBuf,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Also draw a heat map of the segments' saved use to this .svg or .png file
    #[arg(long)]
    plot: Option<PathBuf>,
}

impl Inspect {
    /// Inspects all tables and prints the report.
    ///
    /// # Errors
    /// A database that cannot be opened; corrupt units, after the report.
    pub(crate) fn run(&self) -> Result<()> {
        self.plot.as_ref().map_or(Ok(()), |path| picture::require_picture_name(path))?;
        let mut tables = Vec::new();
        let files = live_files(&self.db)?;
        let step = Step::of("reading filter units", files.len() as u64);
        for file in &files {
            tables.push(Table::new(file, of_file(&self.db, file, inspect::table)?));
            step.advance(1);
        }
        drop(step);
        tables.sort_by(|a, b| (a.level, &a.name).cmp(&(b.level, &b.name)));
        let inspection = Inspection::new(tables);
        output::report(
            |out| if self.json { inspection.write_json(out) } else { inspection.write_tables(out) },
        )?;
        // The heat map needs sound tables; damage is reported below.
        let heat_map = if inspection.sound() { self.heat_map(&files)? } else { None };
        if let (Some(map), false) = (&heat_map, self.json) {
            output::report(|out| map.write_text(out))?;
        }
        if let Some(path) = &self.plot {
            let map = heat_map.as_ref().ok_or_else(|| {
                bad_input(format!("{} remembers no use that could be drawn", self.db.display()))
            })?;
            plot::heat_map(path, map)?;
        }
        anyhow::ensure!(
            inspection.sound(),
            "{}: some filter units are damaged; lookups ignore them",
            self.db.display()
        );
        Ok(())
    }

    /// The saved use of the tables; `None` if there is none.
    fn heat_map(&self, files: &[LiveFile]) -> Result<Option<HeatMap>> {
        let Some(usage) = saved_use(&self.db)? else { return Ok(None) };
        let mut tables = Vec::new();
        for file in files {
            if let Some(table) = of_file(&self.db, file, |path| usage.of_table(path))? {
                tables.push(((file.column_family_name.clone(), file.level), table));
            }
        }
        Ok(Some(HeatMap::new(&tables)))
    }
}
