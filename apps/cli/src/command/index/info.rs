//! `springbloom index info` and `verify`: what an index is, and whether it is as it was written.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::open::{MemoryOptions, explain, open};
use crate::sizes::Size;

/// Show what an index holds and what it takes
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
        let info = open(&self.index, &self.memory)?.info();
        if self.json {
            let document = json!({
                "live_records": info.live_records,
                "records": info.records,
                "partitions": info.partitions,
                "zones": info.zones,
                "log_bytes": info.log_bytes,
                "bucket_bytes": info.bucket_bytes,
                "memory_bytes": info.memory_bytes,
                "pending_entries": info.pending_entries,
            });
            println!("{document:#}");
            return Ok(ExitCode::SUCCESS);
        }
        println!("{} records, about {} of them live", info.records, info.live_records);
        println!(
            "{} of records in {} zones, {} of buckets for {} partitions",
            Size { bytes: info.log_bytes },
            info.zones,
            Size { bytes: info.bucket_bytes },
            info.partitions
        );
        println!(
            "{} of memory just after opening, {} entries waiting",
            Size { bytes: info.memory_bytes },
            info.pending_entries
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// Read everything and report damage; exit code 1 if there is any
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
        let report = open(&self.index, &self.memory)?.verify().map_err(explain)?;
        if self.json {
            let document = json!({
                "is_sound": report.is_sound(),
                "buckets": report.buckets,
                "damaged_buckets": report.damaged_buckets,
                "pages": report.pages,
                "damaged_pages": report.damaged_pages,
                "records": report.records,
            });
            println!("{document:#}");
        } else {
            println!("{} buckets, {} damaged", report.buckets, report.damaged_buckets);
            println!(
                "{} pages with {} records, {} damaged",
                report.pages, report.records, report.damaged_pages
            );
        }
        anyhow::ensure!(
            report.is_sound(),
            "{} is damaged; see `springbloom index repair --help`",
            self.index.display()
        );
        Ok(ExitCode::SUCCESS)
    }
}
