//! `springflash set verify`: reads everything and says what is damaged.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use springbloom_console::output;
use springbloom_flash_filter::VerifyReport;

use super::open::MemoryOptions;
use crate::flash::{drawn, explain, log_in_words};
use crate::opening::SET;

/// Read the log and every page of a set and report damage
///
/// Damage loses no keys: a damaged sector answers "may be there", which raises the false positive rate. Exit code 1 if there is
/// damage.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Verify {
    pub(super) fn run(&self) -> Result<()> {
        let filter = SET.open_to_read(&self.set, self.memory.settings()?)?;
        let report = filter.verify(&mut drawn("verifying")).map_err(explain)?;
        output::report(|out| print(&report, out))?;
        ensure!(
            report.is_sound(),
            "{} is damaged: no key is lost, but the false positive rate is higher; see `springflash set repair --help`",
            self.set.display()
        );
        Ok(())
    }
}

fn print(report: &VerifyReport, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{}", log_in_words(&report.log))?;
    for layer in &report.layers {
        if !layer.has_sound_header {
            writeln!(out, "{}: the header is damaged; the copy in the log is used", layer.name)?;
        }
        writeln!(
            out,
            "{}: {} damaged and {} lost sectors, {} unreadable pages; fill {:.4}, false positive rate {:.2e}",
            layer.name,
            layer.damaged_sectors,
            layer.saturated_sectors,
            layer.unreadable_pages,
            layer.fill,
            layer.fpr
        )?;
        if !layer.faulty_pages.is_empty() {
            writeln!(out, "  pages {:?}", layer.faulty_pages)?;
        }
    }
    Ok(())
}
