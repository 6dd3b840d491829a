//! `springflash index`: a key-value index on flash that needs less than a byte of memory per key.

mod change;
mod create;
mod form;
mod get;
mod info;
pub(crate) mod open;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use serde_json::json;
use springbloom_console::{Step, folder, output};

use crate::command::copy::Folders;
use crate::flash::{FlashIndex, Storage, Watch, drawn, explain, require_other};

/// Keep keys and values in an index on flash, with less than a byte of memory per key
///
/// A line is a key, or a key, a tab and its value; all commands take both. With --null, lines end with NUL; with --json, they are JSON
/// objects, for keys and values of any bytes.
#[derive(Args, Debug)]
pub(crate) struct Index {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Create(create::Create),
    Put(change::Put),
    Get(get::Get),
    Delete(change::Delete),
    Info(info::Info),
    Verify(info::Verify),
    Compact(Compact),
    Copy(Copy),
    Repair(Repair),
}

/// Reclaim the space of replaced and deleted records
#[derive(Args, Debug)]
struct Compact {
    /// Folder of the index
    index: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: open::MemoryOptions,
}

/// Rebuild damaged buckets in place, or salvage readable records into a new index
///
/// With one folder, damaged buckets are rebuilt from the records, and nothing that was acknowledged is lost. If records are damaged, or
/// the index does not open, name a second folder: the damaged index stays as it is, records in damaged pages are lost, keys whose
/// deletion was among them may reappear, and the losses are reported.
#[derive(Args, Debug)]
struct Repair {
    /// Folder of the damaged index
    index: PathBuf,
    /// Folder for the salvaged index, new or empty
    to: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: open::MemoryOptions,
}

/// Copy an index
///
/// The copy is complete and durable. While a program writes the index, only that program can copy it; a copy by `cp` or `rsync` is then
/// complete, or does not open.
#[derive(Args, Debug)]
struct Copy {
    #[command(flatten)]
    folders: Folders,
    #[command(flatten)]
    memory: open::MemoryOptions,
}

impl Copy {
    fn run(&self) -> Result<ExitCode> {
        let memory = self.memory.memory();
        let open =
            |from: Arc<dyn Storage>, step: &mut Watch<'_>| FlashIndex::open_watched(from, memory, step);
        self.folders.copy("index", open, FlashIndex::copy_to)
    }
}

impl Index {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// Those of the subcommand.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Create(create) => create.run(),
            Action::Put(put) => put.run(),
            Action::Get(get) => get.run(),
            Action::Delete(delete) => delete.run(),
            Action::Info(info) => info.run(),
            Action::Verify(verify) => verify.run(),
            Action::Compact(compact) => compact.run(),
            Action::Copy(copy) => copy.run(),
            Action::Repair(repair) => repair.run(),
        }
    }
}

impl Compact {
    fn run(&self) -> Result<ExitCode> {
        let index = open::open(&self.index, &self.memory)?;
        let report = index.compact(&mut drawn("reclaiming space")).map_err(explain)?;
        open::close(index)?;
        if self.json {
            let (zones, records) = (report.zones_reclaimed, report.records_moved);
            output::json(&json!({ "zones_reclaimed": zones, "records_moved": records }))?;
        } else {
            output::tell(format_args!(
                "{} zones reclaimed, {} records moved",
                report.zones_reclaimed, report.records_moved
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Repair {
    fn run(&self) -> Result<ExitCode> {
        match &self.to {
            None => self.repair()?,
            Some(to) => self.salvage(to)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn repair(&self) -> Result<()> {
        let index = open::open(&self.index, &self.memory)?;
        let rebuilt = index.repair(&mut drawn("repairing")).map_err(explain)?;
        let damaged_pages = index.verify(&mut drawn("verifying")).map_err(explain)?.damaged_pages;
        open::close(index)?;
        if self.json {
            output::json(&json!({ "rebuilt_buckets": rebuilt, "damaged_pages": damaged_pages }))?;
        } else {
            output::tell(format_args!("{rebuilt} damaged buckets rebuilt"));
        }
        ensure!(
            damaged_pages == 0,
            "{damaged_pages} pages of records are damaged; `springflash index repair {} NEW` salvages the others into a new index",
            self.index.display()
        );
        Ok(())
    }

    fn salvage(&self, to: &Path) -> Result<()> {
        require_other(&self.index, to, "index")?;
        folder::require_parent(to)?;
        let step = Step::waiting("salvaging");
        let report = FlashIndex::salvage(&self.index, to).map_err(explain)?;
        drop(step);
        if self.json {
            output::json(&json!({
                "records": report.records,
                "damaged_pages": report.damaged_pages,
                "broken_records": report.broken_records,
                "lost_log": report.lost_log,
                "lost_manifest": report.lost_manifest,
                "has_losses": report.has_losses(),
            }))?;
        }
        output::tell(format_args!(
            "{} records salvaged; {} pages are damaged, {} records broken",
            report.records, report.damaged_pages, report.broken_records
        ));
        if report.lost_log {
            output::warn(format_args!(
                "the write-ahead log cannot be read: the latest changes may be missing"
            ));
        }
        if report.lost_manifest {
            output::warn(format_args!("the manifest cannot be read: deleted keys may reappear"));
        }
        ensure!(
            !report.has_losses(),
            "records were lost: keys in {} may be missing, have older values, or reappear after their deletion",
            to.display()
        );
        Ok(())
    }
}
