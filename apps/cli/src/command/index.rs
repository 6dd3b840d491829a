//! `springbloom index`: a key-value index on flash that needs less than a byte of memory per key.

mod change;
mod create;
mod get;
mod info;
pub(crate) mod open;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use springbloom_flash::index::FlashIndex;

/// Exit code of `get` when no key was found.
const EXIT_NOTHING_FOUND: u8 = 3;

/// Keep keys and values in an index on flash, with less than a byte of memory per key
///
/// Keys are lines (or, with --null, separated by NUL); `put` takes the value behind the first tab. Exit codes: 0 done; 1 failed, or damage
/// found; 2 wrong usage or unusable files; 3 `get` found no key.
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
    Repair(Repair),
}

/// Reclaim the space of replaced and deleted records
#[derive(Args, Debug)]
struct Compact {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    memory: open::MemoryOptions,
}

/// Make damaged buckets anew from the records, or a new index of the records that can be read
///
/// Damaged buckets cost nothing. Where records are damaged, a second folder is needed: the damaged index is left as it is, records in damaged
/// pages are lost, and a key whose deletion is among them may be back.
#[derive(Args, Debug)]
struct Repair {
    /// Folder of the damaged index
    index: PathBuf,
    /// Folder for a new one, of what can be read
    to: Option<PathBuf>,
    #[command(flatten)]
    memory: open::MemoryOptions,
}

impl Index {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// What the subcommand could not do.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Create(create) => create.run(),
            Action::Put(put) => put.run(),
            Action::Get(get) => get.run(),
            Action::Delete(delete) => delete.run(),
            Action::Info(info) => info.run(),
            Action::Verify(verify) => verify.run(),
            Action::Compact(compact) => compact.run(),
            Action::Repair(repair) => repair.run(),
        }
    }
}

impl Compact {
    fn run(&self) -> Result<ExitCode> {
        let index = open::open(&self.index, &self.memory)?;
        let report = index.compact().map_err(open::explain)?;
        eprintln!("{} zones reclaimed, {} records moved", report.zones_reclaimed, report.records_moved);
        index.close().map_err(open::explain)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Repair {
    fn run(&self) -> Result<ExitCode> {
        let Some(to) = &self.to else {
            let index = open::open(&self.index, &self.memory)?;
            let rebuilt = index.repair().map_err(open::explain)?;
            eprintln!("{rebuilt} buckets were damaged and are made anew");
            index.close().map_err(open::explain)?;
            return Ok(ExitCode::SUCCESS);
        };
        let report = FlashIndex::salvage(&self.index, to).map_err(open::explain)?;
        eprintln!(
            "{} records salvaged; {} pages are damaged, {} records broken",
            report.records, report.damaged_pages, report.broken_records
        );
        Ok(ExitCode::SUCCESS)
    }
}
