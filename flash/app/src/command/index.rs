//! `springflash index`: a key-value index on flash that needs less than a byte of memory per key.

mod change;
mod get;
mod pair;
mod plan;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use serde_json::json;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{Step, folder, output};
use springbloom_flash_index::{EXPECTED_KEYS_MAX, FlashIndex, IndexMemory, IndexSettings};

use crate::flash::{drawn, explain, log_in_words, require_other};
use crate::opening::INDEX;

/// Keep keys and values in an index on flash, with less than a byte of memory per key
///
/// A line is a key, or a key, a tab and its value; all commands take both. With --null, lines end with NUL.
#[derive(Args, Debug)]
pub(crate) struct Index {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Plan(plan::Plan),
    Create(Create),
    Put(change::Put),
    Get(get::Get),
    Delete(change::Delete),
    Info(Info),
    Verify(Verify),
    Compact(Compact),
    Repair(Repair),
}

/// Create an empty index
#[derive(Args, Debug)]
struct Create {
    /// Folder for the index: a new one, or an empty one
    index: PathBuf,
    /// Expected number of keys, such as 1000000, 1e9 or 2.5M; saves the cost of growing. The index can exceed it. Far
    /// fewer keys than this cost memory and writes
    #[arg(long, value_name = "KEYS", default_value_t = 0,
        value_parser = sizes::whole_within::<u64>(0..=EXPECTED_KEYS_MAX))]
    expected_keys: u64,
}

/// Show the contents of an index and its memory and disk space
#[derive(Args, Debug)]
struct Info {
    /// Folder of the index
    index: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Read a whole index and report damage; exit code 1 if there is damage
#[derive(Args, Debug)]
struct Verify {
    /// Folder of the index
    index: PathBuf,
}

/// Reclaim the space of replaced and deleted records
#[derive(Args, Debug)]
struct Compact {
    /// Folder of the index
    index: PathBuf,
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
}

impl Index {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Put(put) => return put.run(),
            Action::Get(get) => return get.run(),
            Action::Delete(delete) => return delete.run(),
            Action::Plan(plan) => plan.run(),
            Action::Create(create) => create.run(),
            Action::Info(info) => info.run(),
            Action::Verify(verify) => verify.run(),
            Action::Compact(compact) => compact.run(),
            Action::Repair(repair) => match &repair.to {
                None => repair.in_place(),
                Some(to) => repair.salvage(to),
            },
        }
        .map(|()| ExitCode::SUCCESS)
    }
}

impl Create {
    fn run(&self) -> Result<()> {
        folder::require_parent(&self.index)?;
        let _step = Step::waiting(&format!("making {}", self.index.display()));
        let settings = IndexSettings::new(self.expected_keys);
        let index = FlashIndex::create(&self.index, settings, IndexMemory::standard()).map_err(explain)?;
        index.close().map_err(explain)
    }
}

impl Info {
    fn run(&self) -> Result<()> {
        let info = INDEX.open_to_read(&self.index, IndexMemory::standard())?.info();
        if self.json {
            return output::json(&json!({
                "records": info.records,
                "partitions": info.partitions,
                "zones": info.zones,
                "log_bytes": info.log_bytes,
                "bucket_bytes": info.bucket_bytes,
                "memory_bytes": info.memory_bytes,
                "pending_entries": info.pending_entries,
            }));
        }
        let size = |bytes| Size { bytes };
        let text = format!(
            "{} records, replaced ones and deletions included\n\
             {} of records in {} zones, {} of buckets for {} partitions\n\
             {} of memory just after opening, {} pending entries",
            info.records,
            size(info.log_bytes),
            info.zones,
            size(info.bucket_bytes),
            info.partitions,
            size(info.memory_bytes),
            info.pending_entries
        );
        output::report(|out| Ok(writeln!(out, "{text}")?))
    }
}

impl Verify {
    fn run(&self) -> Result<()> {
        let index = INDEX.open_to_read(&self.index, IndexMemory::standard())?;
        let report = index.verify(&mut drawn("verifying")).map_err(explain)?;
        let text = format!(
            "{}\n{} buckets, {} damaged\n{} pages with {} records, {} damaged",
            log_in_words(&report.log),
            report.buckets,
            report.damaged_buckets,
            report.pages,
            report.records,
            report.damaged_pages
        );
        output::report(|out| Ok(writeln!(out, "{text}")?))?;
        let index = self.index.display();
        ensure!(report.is_sound(), "{index} is damaged; see `springflash index repair --help`");
        Ok(())
    }
}

impl Compact {
    fn run(&self) -> Result<()> {
        let index = INDEX.open(&self.index, IndexMemory::standard())?;
        let report = index.compact(&mut drawn("reclaiming space")).map_err(explain)?;
        INDEX.close(index)?;
        let (zones, records) = (report.zones_reclaimed, report.records_moved);
        output::tell(format_args!("{zones} zones reclaimed, {records} records moved"));
        Ok(())
    }
}

impl Repair {
    fn in_place(&self) -> Result<()> {
        let index = INDEX.open(&self.index, IndexMemory::standard())?;
        let rebuilt = index.repair(&mut drawn("repairing")).map_err(explain)?;
        let damaged_pages = index.verify(&mut drawn("verifying")).map_err(explain)?.damaged_pages;
        INDEX.close(index)?;
        output::tell(format_args!("{rebuilt} damaged buckets rebuilt"));
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
        output::tell(format_args!(
            "{} records salvaged; {} pages are damaged, {} records broken",
            report.records, report.damaged_pages, report.broken_records
        ));
        if report.lost_log {
            output::warn("the write-ahead log cannot be read: the latest changes may be missing");
        }
        if report.lost_manifest {
            output::warn("the manifest cannot be read: deleted keys may reappear");
        }
        ensure!(
            !report.has_losses(),
            "records were lost: keys in {} may be missing, have older values, or reappear after their deletion",
            to.display()
        );
        Ok(())
    }
}
