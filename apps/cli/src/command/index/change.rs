//! `springbloom index put` and `delete`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::open::{MemoryOptions, close, open};
use super::pairs;
use crate::failure::done;
use crate::flash::explain;
use crate::lines::{BATCH_LINES, LineOptions, Reading};

/// Put keys and values into an index
///
/// Each line is a key of 1 to 255 bytes, a tab, and a value of up to 65,536 bytes; without a tab, the value is empty. An existing
/// key gets the new value. Changes are durable when the command has ended.
#[derive(Args, Debug)]
pub(crate) struct Put {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    lines: LineOptions,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Put {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index, &self.memory)?;
        let reading = Reading { batch_lines: BATCH_LINES, check: &pairs::check_pair, prints: false };
        let taken = self.lines.each_batch(&reading, &mut |batch| {
            let pairs: Vec<(&[u8], &[u8])> = batch.lines().map(pairs::split).collect();
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
/// Each line is a key. Deletions are durable when the command has ended.
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Delete {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index, &self.memory)?;
        let reading = Reading { batch_lines: BATCH_LINES, check: &pairs::check_key, prints: false };
        let taken = self.keys.each_batch(&reading, &mut |batch| {
            batch.lines().try_for_each(|key| index.delete(key)).map_err(explain)?;
            Ok(ControlFlow::Continue(()))
        });
        // Whatever went wrong, the lines before it are kept.
        let closed = close(index);
        let taken = taken?;
        closed?;
        Ok(done(taken.end("deleted")?))
    }
}
