//! `springbloom set add`: puts keys into a set, and can tell which ones are new.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use springbloom_console::output::tell;
use springbloom_filter::KeyDigest;

use super::keys;
use super::open::{BufferOptions, close, open, warn_if_full};
use crate::failure::{done, selected};
use crate::flash::{FlashFilter, explain};
use crate::lines::{Batch, LineOptions, LineWriter};

/// Put keys into a set
///
/// Keys become durable in batches of at most 8,192 as they are read (with `--line-buffered`, one by one). If the command is
/// killed, the set keeps the batches that were durable.
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    /// Print each key that was not in the set before, once: a `sort -u` that does not sort and remembers earlier runs.
    /// A share of new keys, the set's false positive rate, counts as known and is not printed. Keys are printed before
    /// they are added: if the command is killed, the next run prints some of them again, and none is lost
    #[arg(long)]
    print_new: bool,
    /// Add and print keys one by one instead of in batches, for pipes that stay open
    #[arg(long)]
    line_buffered: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Add {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        // Without a log, committing a batch would write all of its pages.
        let is_logged = filter.info().layers.iter().all(|layer| layer.header.is_logged);
        let mut output = self.print_new.then(|| self.keys.output());
        let taken = self.keys.each_batch(&keys::reading(self.line_buffered, self.print_new), &mut |batch| {
            let digests = keys::digests(batch);
            match &mut output {
                Some(output) => add_new(&filter, batch, &digests, output)?,
                None => filter.insert_many(&digests).map_err(explain)?,
            }
            if is_logged {
                filter.commit().map_err(explain)?;
            }
            Ok(ControlFlow::Continue(()))
        });
        // Whatever went wrong, the lines before it are kept.
        warn_if_full(&filter, &self.set);
        let closed = close(filter);
        let taken = taken?;
        closed?;
        let read = taken.lines;
        let Some(output) = output else { return Ok(done(taken.end("added to the set")?)) };
        let left_out = taken.end("added to the set, and printed if new")?;
        tell(format_args!("{} of {read} keys are new", output.printed()));
        Ok(selected(output.printed(), left_out))
    }
}

/// Prints and inserts the keys of `batch` that are not in the set, each once. They are handed on before they are inserted: a key that
/// is in the set and was never seen by anybody would be lost for good.
fn add_new(
    filter: &FlashFilter,
    batch: &Batch,
    digests: &[KeyDigest],
    output: &mut LineWriter,
) -> Result<()> {
    const NOT_ADDED: &str = "the remaining keys were not added";
    let known = filter.contains_many(digests);
    let mut seen = HashSet::new();
    let new: Vec<usize> = (0..digests.len()).filter(|n| !known[*n] && seen.insert(digests[*n])).collect();
    let printed = new.iter().try_for_each(|n| output.print(batch.line(*n))).and_then(|()| output.flush());
    if !printed.context(NOT_ADDED)? {
        bail!("the output was closed: {NOT_ADDED}; the next run counts them as new");
    }
    let digests: Vec<_> = new.iter().map(|n| digests[*n]).collect();
    filter.insert_many(&digests).map_err(explain)
}
