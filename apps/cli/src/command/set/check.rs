//! `springbloom set check`: prints the keys that are in a set, or those that are not.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::keys::{BATCH_KEYS, KeyOptions, KeyWriter, is_closed_output};
use super::open::{BufferOptions, open};
use super::printed_code;
use springbloom_flash::FlashFilter;

/// Print the keys that may be in a set
///
/// A key that is in the set is always printed; of those that are not, a share (the set's false positive rate) is too.
/// With --absent, the keys that are certainly not in the set are printed instead.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    keys: KeyOptions,
    /// Print the keys that are certainly not in the set (as `grep -v` would)
    #[arg(short = 'v', long)]
    absent: bool,
    /// Print only how many keys would be printed
    #[arg(short, long)]
    count: bool,
    /// Print nothing: the exit code tells
    #[arg(short, long, conflicts_with = "count")]
    quiet: bool,
    /// Look each key up and print it as it comes, not in batches: for pipes that stay open
    #[arg(long)]
    line_buffered: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Check {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        let selected = match self.select(&filter, &mut self.keys.output()) {
            // Whoever read the keys has seen enough.
            Err(error) if is_closed_output(&error) => return Ok(ExitCode::SUCCESS),
            selected => selected?,
        };
        let stats = filter.stats();
        if stats.damaged_answers + stats.failed_reads > 0 {
            eprintln!(
                "springbloom: {} lookups met damage and were answered \"may be there\"; see `springbloom set verify`",
                stats.damaged_answers + stats.failed_reads
            );
        }
        Ok(printed_code(selected))
    }

    /// Prints the keys (or their number) and returns how many were selected.
    fn select(&self, filter: &FlashFilter, output: &mut KeyWriter) -> Result<u64> {
        let mut selected = 0;
        let batch_keys = if self.line_buffered { 1 } else { BATCH_KEYS };
        self.keys.each_batch_of(batch_keys, &mut |batch| {
            for (n, may_match) in filter.contains_many(&batch.digests).into_iter().enumerate() {
                if may_match != self.absent {
                    selected += 1;
                    if !self.count && !self.quiet {
                        output.print(batch.key(n))?;
                    }
                }
            }
            output.finish()
        })?;
        if self.count {
            output.print_count(selected)?;
        }
        output.finish()?;
        Ok(selected)
    }
}
