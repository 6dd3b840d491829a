//! `springbloom set check`: prints the keys that are in a set, or those that are not.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::keys::KeyOptions;
use super::open::{BufferOptions, open};
use super::printed_code;

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
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Check {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        let mut output = self.keys.output();
        let mut selected = 0;
        self.keys.each_batch(&mut |batch| {
            for (n, may_match) in filter.contains_many(&batch.digests).into_iter().enumerate() {
                if may_match != self.absent {
                    selected += 1;
                    if !self.count && !self.quiet {
                        output.print(batch.key(n))?;
                    }
                }
            }
            Ok(())
        })?;
        if self.count {
            output.print(selected.to_string().as_bytes())?;
        }
        output.finish()?;
        let stats = filter.stats();
        if stats.damaged_answers + stats.failed_reads > 0 {
            eprintln!(
                "springbloom: {} lookups met damage and were answered \"may be there\"; see `springbloom set verify`",
                stats.damaged_answers + stats.failed_reads
            );
        }
        Ok(printed_code(selected))
    }
}
