//! `springflash index info` and `verify`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use springbloom_console::output;
use springbloom_console::sizes::Size;

use super::open::{MemoryOptions, open_to_read};
use crate::flash::{IndexInfo, IndexVerifyReport, drawn, explain, log_document, log_in_words};

/// Show the contents of an index and its memory and disk space
#[derive(Args, Debug)]
pub(crate) struct Info {
    /// Folder of the index
    index: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Info {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let info = open_to_read(&self.index, &self.memory)?.info();
        if self.json {
            let document = json!({
                "records": info.records,
                "partitions": info.partitions,
                "zones": info.zones,
                "log_bytes": info.log_bytes,
                "bucket_bytes": info.bucket_bytes,
                "memory_bytes": info.memory_bytes,
                "pending_entries": info.pending_entries,
            });
            output::json(&document)?;
        } else {
            output::report(|out| print_info(&info, out))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print_info(info: &IndexInfo, out: &mut impl Write) -> Result<()> {
    let size = |bytes| Size { bytes };
    writeln!(out, "{} records, replaced ones and deletions included", info.records)?;
    writeln!(
        out,
        "{} of records in {} zones, {} of buckets for {} partitions",
        size(info.log_bytes),
        info.zones,
        size(info.bucket_bytes),
        info.partitions
    )?;
    writeln!(
        out,
        "{} of memory just after opening, {} pending entries",
        size(info.memory_bytes),
        info.pending_entries
    )?;
    Ok(())
}

/// Read a whole index and report damage; exit code 1 if there is damage
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Folder of the index
    index: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Verify {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open_to_read(&self.index, &self.memory)?;
        let report = index.verify(&mut drawn("verifying")).map_err(explain)?;
        if self.json {
            let document = json!({
                "is_sound": report.is_sound(),
                "buckets": report.buckets,
                "damaged_buckets": report.damaged_buckets,
                "pages": report.pages,
                "damaged_pages": report.damaged_pages,
                "records": report.records,
                "log": log_document(&report.log),
            });
            output::json(&document)?;
        } else {
            output::report(|out| print_verified(&report, out))?;
        }
        anyhow::ensure!(
            report.is_sound(),
            "{} is damaged; see `springflash index repair --help`",
            self.index.display()
        );
        Ok(ExitCode::SUCCESS)
    }
}

fn print_verified(report: &IndexVerifyReport, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}", log_in_words(&report.log))?;
    writeln!(out, "{} buckets, {} damaged", report.buckets, report.damaged_buckets)?;
    writeln!(
        out,
        "{} pages with {} records, {} damaged",
        report.pages, report.records, report.damaged_pages
    )?;
    Ok(())
}
