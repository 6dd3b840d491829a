//! `springbloom report`: a table of the records, for a document.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use springbloom_console::{bad_input, output};

use crate::markdown;
use crate::record_store::RecordStore;
use crate::reproduce::records_folder;
use crate::run::Size;

/// Show the records of `springbloom reproduce` as Markdown: tables of filters, paper against ours
#[derive(Args, Debug)]
pub struct Report {
    /// Folder of records [default: springbloom/records in the cache folder of the user]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Use the records of quick runs instead of full ones
    #[arg(long)]
    quick: bool,
    /// The table of an experiment, or `verdicts` for that of all
    #[arg(long, value_name = "ID")]
    markdown: String,
}

impl Report {
    /// Prints a table.
    pub fn run(&self) -> Result<()> {
        let folder = records_folder(self.records.as_deref())?;
        let size = if self.quick { Size::Quick } else { Size::Full };
        let store = if folder.is_dir() { RecordStore::read(&folder, size)? } else { RecordStore::default() };
        if store.is_empty() {
            return Err(bad_input(format!(
                "{} has no records of {} runs: run `springbloom reproduce`, name another folder with --records, or quick runs with --quick",
                folder.display(),
                size.name()
            )));
        }
        let id = &self.markdown;
        let table = markdown::table(id, &store)?
            .ok_or_else(|| bad_input(format!("{id} has no records: run `springbloom reproduce {id}`")))?;
        output::report(|out| Ok(std::io::Write::write_all(out, table.as_bytes())?))
    }
}
