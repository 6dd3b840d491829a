//! `springbloom set add`: puts keys into a set, and can tell which ones are new.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::keys::{BATCH_KEYS, Batch, KeyOptions, KeyWriter};
use super::open::{BufferOptions, explain, open, warn_if_full};
use super::printed_code;
use springbloom_flash::FlashFilter;

/// Put keys into a set
///
/// Keys are made durable in batches of 8,192 as they are read (with `--line-buffered`, one by one), and all of them are when the command
/// ends. If it is killed, what was durable is in the set.
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    keys: KeyOptions,
    /// Print the keys that were not in the set before, each once: a `sort -u` that needs no sorting and goes on next time
    /// (a share of the new keys, the set's false positive rate, is taken for known and not printed). Keys are printed before
    /// they are put into the set: if the command is killed, some are printed again next time, and none is forgotten
    #[arg(long)]
    print_new: bool,
    /// Put each key into the set and print it as it comes, not in batches: for pipes that stay open
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
        let mut read = 0;
        let batch_keys = if self.line_buffered { 1 } else { BATCH_KEYS };
        self.keys.each_batch_of(batch_keys, &mut |batch| {
            read += batch.digests.len() as u64;
            match &mut output {
                Some(output) => add_new(&filter, batch, output)?,
                None => filter.insert_many(&batch.digests).map_err(explain)?,
            }
            if is_logged { filter.commit().map_err(explain) } else { Ok(()) }
        })?;
        filter.commit().map_err(explain)?;
        warn_if_full(&filter, &self.set);
        let Some(output) = output else { return Ok(ExitCode::SUCCESS) };
        eprintln!("{} of {read} keys are new", output.printed());
        Ok(printed_code(output.printed()))
    }
}

/// Prints and inserts the keys of `batch` that are not in the set, each once. They are handed on before they are inserted: a key that
/// is in the set and was never seen by anybody would be lost for good.
fn add_new(filter: &FlashFilter, batch: &Batch, output: &mut KeyWriter) -> Result<()> {
    let known = filter.contains_many(&batch.digests);
    let mut seen = HashSet::new();
    let new: Vec<usize> =
        (0..batch.digests.len()).filter(|n| !known[*n] && seen.insert(batch.digests[*n])).collect();
    let printed = new.iter().try_for_each(|n| output.print(batch.key(*n))).and_then(|()| output.finish());
    printed.context("the keys from here on were not added")?;
    let digests: Vec<_> = new.iter().map(|n| batch.digests[*n]).collect();
    filter.insert_many(&digests).map_err(explain)
}
