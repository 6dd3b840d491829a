//! `springbloom report`: the records as tables of documents.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use springbloom_console::{bad_input, output};
use springbloom_records::{require_regular, write_whole};

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
    /// Print the table of an experiment, or `verdicts` for that of all
    #[arg(long, value_name = "ID", required_unless_present = "update")]
    markdown: Option<String>,
    /// Rewrite the tables of a Markdown file: what is between <!-- record: ID --> and
    /// <!-- end of record -->
    #[arg(long, value_name = "FILE.md", conflicts_with = "markdown")]
    update: Option<PathBuf>,
}

impl Report {
    /// Prints a table, or writes those of a document.
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
        if let Some(id) = &self.markdown {
            let table = markdown::table(id, &store)?
                .ok_or_else(|| bad_input(format!("{id} has no records: run `springbloom reproduce {id}`")))?;
            return output::report(|out| Ok(std::io::Write::write_all(out, table.as_bytes())?));
        }
        if let Some(document) = &self.update {
            require_regular(document, "a Markdown document")?;
            let text = fs::read_to_string(document)
                .with_context(|| format!("cannot read {}", document.display()))?;
            let (text, kept) = markdown::update(&text, &store)
                .with_context(|| format!("cannot update {}", document.display()))?;
            for id in kept {
                output::warn(format_args!("{id} has no records: its table stays as it is"));
            }
            write_whole(document, text.as_bytes())
                .with_context(|| format!("cannot write {}", document.display()))?;
        }
        Ok(())
    }
}
