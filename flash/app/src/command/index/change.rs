//! `springflash index put` and `delete`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use springbloom_console::bad_input;

use super::form::{FormOptions, Pair};
use super::open::{MemoryOptions, close, open};
use crate::exit_codes::done;
use crate::flash::explain;
use crate::lines::{BATCH_LINES, LineOptions, Reading};

/// Put keys and values into an index
///
/// Each line is a key of 1 to 65,536 bytes without a tab, a tab, and a value of up to 65,536 bytes; without a tab, the value is empty.
/// An existing key gets the new value. Changes are durable when the command has ended.
#[derive(Args, Debug)]
pub(crate) struct Put {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    lines: LineOptions,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Put {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index, &self.memory)?;
        let check = |line: &[u8]| self.form.pair(line).map(drop);
        let reading = Reading { batch_lines: BATCH_LINES, check: &check, prints: false };
        let taken = self.lines.each_batch(&reading, &mut |batch| {
            let pairs: Result<Vec<Pair<'_>>, String> =
                batch.lines().map(|line| self.form.pair(line)).collect();
            let pairs = pairs.map_err(bad_input)?;
            let pairs: Vec<(&[u8], &[u8])> =
                pairs.iter().map(|pair| (&*pair.key, pair.value.as_deref().unwrap_or_default())).collect();
            index.put_many(&pairs).map_err(explain)?;
            Ok(ControlFlow::Continue(()))
        });
        // Whatever went wrong, the lines before it are kept.
        let closed = close(index);
        let taken = taken?;
        closed?;
        Ok(done(taken.end("put into the index")?))
    }
}

/// Delete keys from an index
///
/// Each line is a key; a line with a tab is refused, as no key has one. With --json, lines may have values, as `get` prints them.
/// Deletions are durable when the command has ended.
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    #[command(flatten)]
    form: FormOptions,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Delete {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index, &self.memory)?;
        let check = |line: &[u8]| self.form.key(line).map(drop);
        let reading = Reading { batch_lines: BATCH_LINES, check: &check, prints: false };
        let taken = self.keys.each_batch(&reading, &mut |batch| {
            for line in batch.lines() {
                let key = self.form.key(line).map_err(bad_input)?;
                index.delete(&key).map_err(explain)?;
            }
            Ok(ControlFlow::Continue(()))
        });
        // Whatever went wrong, the lines before it are kept.
        let closed = close(index);
        let taken = taken?;
        closed?;
        Ok(done(taken.end("deleted")?))
    }
}
