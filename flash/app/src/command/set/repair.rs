//! `springflash set repair`: what can be had of a damaged set.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;
use springbloom_console::{Step, folder, output};
use springbloom_flash_filter::FlashFilter;

use super::open::{MemoryOptions, close};
use crate::flash::{explain, require_other};
use crate::opening::SET;

/// Repair a damaged set in place, or salvage it into a new set
///
/// With one folder, no key is lost: damaged sectors keep answering "may be there", and headers and log are restored from their
/// copies. If both copies of a part of the log are damaged, the set does not open, and a second folder is needed. Then the damaged
/// set stays as it is, the new set lacks the keys of the damaged part, and the losses are reported.
#[derive(Args, Debug)]
pub(crate) struct Repair {
    /// Folder of the damaged set
    set: PathBuf,
    /// Folder for the salvaged set, new or empty
    to: Option<PathBuf>,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Repair {
    pub(super) fn run(&self) -> Result<()> {
        match &self.to {
            None => self.repair(),
            Some(to) => self.salvage(to),
        }
    }

    fn repair(&self) -> Result<()> {
        let filter = SET.open(&self.set, self.memory.settings()?)?;
        let step = Step::waiting("repairing");
        let sectors = filter.repair().map_err(explain)?;
        drop(step);
        close(filter, &self.set)?;
        output::tell(format_args!("{sectors} damaged sectors will always answer \"may be there\""));
        Ok(())
    }

    fn salvage(&self, to: &Path) -> Result<()> {
        require_other(&self.set, to, "set")?;
        folder::require_parent(to)?;
        let step = Step::waiting("salvaging");
        let report = FlashFilter::salvage(&self.set, to, self.memory.settings()?).map_err(explain)?;
        drop(step);
        output::tell(format_args!(
            "{} filters salvaged, {} of their sectors damaged; {} keys of the log recovered",
            report.layers, report.damaged_sectors, report.recovered_updates
        ));
        if report.lost_log {
            output::warn(format_args!("the write-ahead log cannot be read: the keys added last are missing"));
        } else if report.lost_commits > 0 {
            let commits = report.lost_commits;
            output::warn(format_args!(
                "{commits} commits of the write-ahead log cannot be read: their keys are missing"
            ));
        }
        if report.outdated_filters > 0 {
            output::warn(format_args!(
                "{} filters are older than the log, as in a copy that was made while the set was written: keys are missing",
                report.outdated_filters
            ));
        }
        ensure!(!report.has_losses(), "{} holds the readable keys; other keys were lost", to.display());
        Ok(())
    }
}
