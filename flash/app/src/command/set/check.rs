//! `springflash set check`: prints the keys that are in a set, or those that are not.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use springbloom_console::output::warn;

use super::keys;
use super::open::{BufferOptions, open_to_look_up, warn_if_overfull};
use crate::exit_codes::selected;
use crate::lines::LineOptions;

/// Print the keys that may be in a set
///
/// Every key that is in the set is printed, and a share of the others: the set's false positive rate. With --absent, the keys
/// that are certainly not in the set are printed instead.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    /// Print the keys that are certainly not in the set (as `grep -v` would)
    #[arg(short = 'v', long)]
    absent: bool,
    /// Print only how many keys would be printed
    #[arg(short, long)]
    count: bool,
    /// Print nothing; the exit code is the answer
    #[arg(short, long, conflicts_with = "count")]
    quiet: bool,
    /// Look keys up and print them one by one instead of in batches, for pipes that stay open
    #[arg(long)]
    line_buffered: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Check {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open_to_look_up(&self.set, &self.buffer)?;
        warn_if_overfull(&filter, &self.set);
        let mut output = self.keys.output();
        let prints = !self.count && !self.quiet;
        let mut printed = 0;
        let taken = self.keys.each_batch(&keys::reading(self.line_buffered, prints), &mut |batch| {
            for (n, may_match) in filter.contains_many(&keys::digests(batch)).into_iter().enumerate() {
                if may_match != self.absent {
                    printed += 1;
                    if prints {
                        output.print(batch.line(n))?;
                    }
                }
            }
            Ok(if output.flush()? { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        if self.count {
            output.print_count(printed)?;
            output.flush()?;
        }
        let stats = filter.stats();
        let damaged = stats.damaged_answers + stats.failed_reads;
        if damaged > 0 {
            warn(format_args!(
                "{damaged} lookups read damaged data and answered \"may be there\"; see `springflash set verify --help`"
            ));
        }
        Ok(selected(printed, taken.end("looked up")?))
    }
}
