//! `springbloom index get`: looks keys up.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::open::{MemoryOptions, open_to_look_up};
use super::pairs;
use crate::command::flash::explain;
use crate::failure::selected;
use crate::lines::{LineOptions, Reading};

/// Keys looked up together: their values are in memory at once, 64 KiB each at most.
const BATCH_KEYS: usize = 512;

/// Print keys with their values
///
/// Each key that is in the index is printed with a tab and its value. With --absent, the keys that are not there are printed.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    /// Print the keys that are not in the index
    #[arg(short = 'v', long)]
    absent: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Get {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open_to_look_up(&self.index, &self.memory)?;
        let mut output = self.keys.output();
        let mut line = Vec::new();
        let reading = Reading { batch_lines: BATCH_KEYS, check: &pairs::check_key, prints: true };
        let taken = self.keys.each_batch(&reading, &mut |batch| {
            let keys: Vec<&[u8]> = batch.lines().collect();
            for (key, value) in keys.iter().zip(index.get_many(&keys).map_err(explain)?) {
                match value {
                    Some(value) if !self.absent => {
                        line.clear();
                        line.extend_from_slice(key);
                        line.push(b'\t');
                        line.extend_from_slice(&value);
                        output.print(&line)?;
                    }
                    None if self.absent => output.print(key)?,
                    _ => {}
                }
            }
            Ok(if output.flush()? { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        Ok(selected(output.printed(), taken.end("looked up")?))
    }
}
