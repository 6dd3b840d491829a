//! `springbloom set add`: puts keys into a set, and can tell which ones are new.

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::keys::{Batch, KeyOptions, KeyWriter};
use super::open::{BufferOptions, explain, open};
use super::printed_code;
use springbloom_flash::FlashFilter;

/// Put keys into a set
///
/// A key is durable when it was read and the batch that it is in was acknowledged: at the latest when the command ends.
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    keys: KeyOptions,
    /// Print the keys that were not in the set before, each once: a `sort -u` that needs no sorting and goes on next time
    /// (a share of the new keys, the set's false positive rate, is taken for known and not printed)
    #[arg(long)]
    print_new: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Add {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        let mut output = self.print_new.then(|| self.keys.output());
        let mut read = 0;
        self.keys.each_batch(&mut |batch| {
            read += batch.digests.len() as u64;
            match &mut output {
                Some(output) => add_new(&filter, batch, output)?,
                None => filter.insert_many(&batch.digests).map_err(explain)?,
            }
            filter.commit().map_err(explain)
        })?;
        filter.flush().map_err(explain)?;
        if filter.is_full() {
            eprintln!(
                "springbloom: {} is full: its false positive rate is {:.2e} now",
                self.set.display(),
                filter.estimated_fpr()
            );
        }
        let Some(mut output) = output else { return Ok(ExitCode::SUCCESS) };
        output.finish()?;
        eprintln!("{} of {read} keys are new", output.printed());
        Ok(printed_code(output.printed()))
    }
}

/// Inserts and prints the keys of `batch` that are not in the set, each once.
fn add_new(filter: &FlashFilter, batch: &Batch, output: &mut KeyWriter) -> Result<()> {
    let known = filter.contains_many(&batch.digests);
    let mut seen = HashSet::new();
    let mut new = Vec::new();
    for (n, digest) in batch.digests.iter().enumerate() {
        if !known[n] && seen.insert(*digest) {
            new.push(*digest);
            output.print(batch.key(n))?;
        }
    }
    filter.insert_many(&new).map_err(explain)
}
