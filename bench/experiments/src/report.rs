//! `springbloom report`: the records as tables of documents.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use springbloom_console::{bad_input, output, require_regular};

use crate::lab::Lab;
use crate::markdown;
use crate::reproduce::records_folder;
use crate::run::Size;

/// Show the records of `springbloom reproduce` as Markdown: tables of filters, paper against ours
#[derive(Args, Debug)]
pub struct Report {
    /// Folder of records [default: springbloom/records in the cache folder of the user]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Use records of quick runs alone [default: of each run the full record, or the quick one where there is none]
    #[arg(long)]
    quick: bool,
    /// Print the table of an experiment, or `verdicts` for that of all
    #[arg(long, value_name = "ID", required_unless_present = "update")]
    markdown: Option<String>,
    /// Write the tables of a Markdown file anew: what is between <!-- record: ID --> and
    /// <!-- end of record -->
    #[arg(long, value_name = "FILE.md", conflicts_with = "markdown")]
    update: Option<PathBuf>,
}

impl Report {
    /// Prints a table, or writes those of a document.
    pub fn run(&self) -> Result<()> {
        let folder = records_folder(self.records.as_deref())?;
        let of_folder = |why: &str| {
            bad_input(format!(
                "{} {why}: run `springbloom reproduce --quick all`, or name another folder with --records",
                folder.display()
            ))
        };
        if !folder.is_dir() {
            let is_there = folder.exists();
            return Err(of_folder(if is_there { "is not a folder of records" } else { "has no records" }));
        }
        let lab = Lab::read(&folder, self.quick.then_some(Size::Quick))?;
        if lab.iter().next().is_none() {
            return Err(of_folder(if self.quick {
                "has no records of quick runs"
            } else {
                "has no records"
            }));
        }
        if let Some(id) = &self.markdown {
            let table = markdown::table(id, &lab)?
                .ok_or_else(|| bad_input(format!("{id} has no records: run `springbloom reproduce {id}`")))?;
            return output::report(|out| Ok(std::io::Write::write_all(out, table.as_bytes())?));
        }
        if let Some(document) = &self.update {
            require_regular(document, "a Markdown document")?;
            let text = fs::read(document).with_context(|| format!("cannot read {}", document.display()))?;
            let text = String::from_utf8(text).map_err(|_| {
                bad_input(format!("{} is not UTF-8: expected a Markdown document", document.display()))
            })?;
            let (text, kept) = markdown::update(&text, &lab)
                .with_context(|| format!("cannot update {}", document.display()))?;
            for id in kept {
                output::warn(format_args!("{id} has no records: its table stays as it is"));
            }
            output::write_whole(document, text.as_bytes())
                .with_context(|| format!("cannot write {}", document.display()))?;
        }
        Ok(())
    }
}
