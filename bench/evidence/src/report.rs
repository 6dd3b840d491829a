//! `springbloom report`: a page of the records, and tables of documents.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use springbloom_console::{bad_input, output, require_regular, require_replaceable};

use crate::catalogue;
use crate::lab::Lab;
use crate::reproduce::records_folder;
use crate::run::Size;
use crate::{markdown, page};

/// Make one page of the records of measurements: filters at equal memory by workload, tables, paper against ours
///
/// The page is one file and needs no network. Records are those of `springbloom reproduce`, and what `compare --json` and
/// `simulate --json` print, as files that end in .json.
#[derive(Args, Debug)]
pub struct Report {
    /// Folder of records [default: springbloom/records in the cache folder of the user]
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Page to write
    #[arg(long, value_name = "FILE.html", default_value = "springbloom-report.html")]
    out: PathBuf,
    /// Use records of quick runs alone [default: of each run the full record, or the quick one where there is none]
    #[arg(long)]
    quick: bool,
    /// Print a table of an experiment as Markdown instead, or `verdicts` for that of all
    #[arg(long, value_name = "ID", conflicts_with = "out")]
    markdown: Option<String>,
    /// Write the tables of a Markdown file anew instead: what is between <!-- record: ID --> and
    /// <!-- end of record -->, outside blocks of code
    #[arg(long, value_name = "FILE.md", conflicts_with_all = ["out", "markdown"])]
    update: Option<PathBuf>,
}

impl Report {
    /// Writes the page, or prints or writes tables.
    ///
    /// # Errors
    /// Folders and files that cannot be used, unknown ids.
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
            return write(document, &text);
        }
        let written_at = output::written_at(&self.out);
        let is_page =
            written_at.extension().is_some_and(|extension| extension == "html" || extension == "htm");
        if !self.out.starts_with("/dev") {
            if !is_page {
                return Err(bad_input(format!(
                    "--out {}: expected a name that ends in .html, so that no other file is overwritten",
                    self.out.display()
                )));
            }
            require_replaceable(&self.out, "a page")?;
        }
        write(&self.out, &page::page(catalogue::experiments(), &lab)?)?;
        output::tell(format_args!("{}: a page of {} records", self.out.display(), lab.iter().count()));
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    output::write_whole(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}
