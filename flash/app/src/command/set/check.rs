//! `springflash set check`: prints the keys that are in a set, or those that are not.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use springbloom_console::output::warn;
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::FlashFilter;

use super::keys;
use super::open::{MemoryOptions, warn_if_overfull};
use crate::exit_codes::selected;
use crate::lines::LineOptions;
use crate::opening::SET;

/// Print the keys that may be in a set, or in one of several
///
/// Every key that is in a set is printed, and a share of the others: the false positive rates of the sets together. With --absent,
/// the keys that are certainly in none of the sets are printed instead.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    /// Folder of another set to look in, as often as you like. A key that one set has is not looked up in those after it
    #[arg(long, value_name = "SET")]
    also: Vec<PathBuf>,
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
    memory: MemoryOptions,
}

impl Check {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let mut filters = Vec::new();
        for set in std::iter::once(&self.set).chain(&self.also) {
            let filter = SET.open_to_look_up(set, self.memory.settings()?)?;
            warn_if_overfull(&filter, set);
            filters.push(filter);
        }
        let mut output = self.keys.output();
        let prints = !self.count && !self.quiet;
        let mut printed = 0;
        let taken = self.keys.each_batch(&keys::reading(self.line_buffered, prints), &mut |batch| {
            for (n, may_match) in any_contains(&filters, &keys::digests(batch)).into_iter().enumerate() {
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
        let damaged: u64 = filters
            .iter()
            .map(FlashFilter::stats)
            .map(|stats| stats.damaged_answers + stats.failed_reads)
            .sum();
        if damaged > 0 {
            warn(format_args!(
                "{damaged} lookups read damaged data and answered \"may be there\"; see `springflash set verify --help`"
            ));
        }
        taken.end("looked up")?;
        Ok(selected(printed))
    }
}

/// For each key, whether one of the sets may have it.
fn any_contains(filters: &[FlashFilter], digests: &[KeyDigest]) -> Vec<bool> {
    let mut answers = filters[0].contains_many(digests);
    for filter in &filters[1..] {
        let left: Vec<usize> = (0..digests.len()).filter(|n| !answers[*n]).collect();
        let asked: Vec<KeyDigest> = left.iter().map(|n| digests[*n]).collect();
        for (n, may_match) in left.into_iter().zip(filter.contains_many(&asked)) {
            answers[n] = may_match;
        }
    }
    answers
}
