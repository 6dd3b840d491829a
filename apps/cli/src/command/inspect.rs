//! `springbloom inspect`: the filter units of a database on disk, and their checksums.

mod inspection;

use anyhow::{Result, bail};
use clap::Args;
use springbloom_console::{Step, output};
use springbloom_rocksdb::inspect;
use springbloom_rocksdb::listed_tables::ListedTable;

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
}

impl Inspect {
    /// Inspects all tables and prints the report.
    ///
    /// # Errors
    /// A database that cannot be read; tables that are missing, damaged or may not be read, after the report.
    pub(crate) fn run(&self) -> Result<()> {
        let listed = self.database.tables()?;
        let levels = self.report(&listed)?;
        let folder = self.database.folder().display();
        if let Some(table) = levels.first_damaged() {
            bail!(
                "{folder}: tables or filter units are damaged, first in {table}; lookups ignore damaged units"
            );
        }
        // Read for its checksum alone.
        let (_, use_fault) = self.database.saved_use();
        use_fault.map_or(Ok(()), Err)
    }

    /// Prints what the tables are, one after the other.
    fn report(&self, listed: &[ListedTable]) -> Result<Levels> {
        let step = Step::of("reading filter units", listed.len() as u64);
        let (mut gone, mut forbidden) = (Vec::new(), None);
        let tables = listed.iter().filter_map(|table| {
            step.advance(1);
            match self.database.read(table, inspect::table) {
                Ok(Read::Done(report)) => return Some(Table::new(table, report)),
                Ok(Read::Damaged(error)) => return Some(Table::unreadable(table, &error)),
                Ok(Read::Gone) => gone.push(table.clone()),
                Err(error) => _ = forbidden.get_or_insert(error),
            }
            None
        });
        let mut levels = Levels::default();
        output::report(|out| {
            if self.json { levels.write_json(tables, out) } else { levels.write_text(tables, out) }
        })?;
        self.database.explain_gone(&gone)?;
        forbidden.map_or(Ok(levels), Err)
    }
}
