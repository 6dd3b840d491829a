//! `springflash dedup`: how much of some data is duplicate.

mod chunks;
mod content;
mod duplicates;
mod extents;
mod files;
mod known;
mod own_index;
mod pseudo_fs;
mod report;
mod scan;
mod state;
mod tally;
mod trace;
mod walk;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Measure how much of some data is duplicate
#[derive(Args, Debug)]
pub(crate) struct Dedup {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    Scan(scan::Scan),
}

impl Dedup {
    /// Runs the subcommand.
    ///
    /// # Errors
    /// Those of the subcommand.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        match &self.action {
            Action::Scan(scan) => scan.run(),
        }
    }
}
