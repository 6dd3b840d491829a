//! `springbloom inspect`: the filter units of a database on disk, and their checksums.

mod heat_map;
mod inspection;
mod plot;

use std::cell::RefCell;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use springbloom_console::Step;
use springbloom_console::bad_input;
use springbloom_console::{output, picture};
use springbloom_rocksdb::inspect;
use springbloom_rocksdb::listed_tables::ListedTable;

use self::heat_map::HeatMap;
use self::inspection::{Levels, Table};
use crate::database::{Database, Read};

/// Show the filter units of a database by table and level, and verify their checksums
///
/// Reads the list of tables and one table after the other. Writes nothing.
#[derive(Args, Debug)]
pub(crate) struct Inspect {
    #[command(flatten)]
    database: Database,
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
    /// A database that cannot be read; tables that are missing or damaged, after the report.
    pub(crate) fn run(&self) -> Result<()> {
        self.plot.as_ref().map_or(Ok(()), |path| picture::require_picture_name(path))?;
        let listed = self.database.tables()?;
        let levels = self.report(&listed)?;
        let folder = self.database.folder().display();
        if let Some(table) = levels.first_damaged() {
            bail!(
                "{folder}: tables or filter units are damaged, first in {table}; lookups ignore damaged units"
            );
        }
        // The heat map needs sound tables.
        let is_drawn = self.plot.is_some() || !self.json;
        let heat_map = if is_drawn { self.heat_map(&listed)? } else { None };
        if let (Some(map), false) = (&heat_map, self.json) {
            output::report(|out| map.write_text(out))?;
        }
        if let Some(path) = &self.plot {
            let map = heat_map
                .as_ref()
                .ok_or_else(|| bad_input(format!("{folder} remembers no use that could be drawn")))?;
            plot::heat_map(path, map)?;
        }
        Ok(())
    }

    /// Prints what the tables are, one after the other.
    fn report(&self, listed: &[ListedTable]) -> Result<Levels> {
        let step = Step::of("reading filter units", listed.len() as u64);
        let gone = RefCell::new(Vec::new());
        let tables = listed.iter().filter_map(|table| {
            step.advance(1);
            match self.database.read(table, inspect::table) {
                Ok(Read::Done(report)) => Some(Table::new(table, report)),
                Ok(Read::Gone) => {
                    gone.borrow_mut().push(table.clone());
                    None
                }
                Err(error) => Some(Table::unreadable(table, &error)),
            }
        });
        let mut levels = Levels::default();
        output::report(|out| {
            if self.json { levels.write_json(tables, out) } else { levels.write_text(tables, out) }
        })?;
        self.database.explain_gone(&gone.take())?;
        Ok(levels)
    }

    /// The saved use of the tables; `None` if there is none.
    fn heat_map(&self, listed: &[ListedTable]) -> Result<Option<HeatMap>> {
        let Some(usage) = self.database.saved_use()? else { return Ok(None) };
        let mut tables = Vec::new();
        for table in listed {
            if let Read::Done(Some(used)) = self.database.read(table, |path| usage.of_table(path))? {
                tables.push(((table.column_family.to_string(), table.level), used));
            }
        }
        Ok(Some(HeatMap::new(&tables)))
    }
}
