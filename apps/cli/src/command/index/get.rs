//! `springbloom index get`: looks keys up.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;

use super::open::{MemoryOptions, open_to_look_up};
use super::pairs;
use crate::failure::selected;
use crate::flash::{FlashError, FlashIndex, explain};
use crate::lines::{LineOptions, Reading};

/// Keys looked up together: their values are in memory at once, 64 KiB each at most.
const BATCH_KEYS: usize = 256;

/// Print keys with their values
///
/// Each key that is in the index is printed with a tab and its value. With --absent, the missing keys are printed instead.
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
        let mut damage = Damage::default();
        let taken = self.keys.each_batch(&reading, &mut |batch| {
            let keys: Vec<&[u8]> = batch.lines().collect();
            for (key, value) in keys.iter().zip(damage.look_up(&index, &keys)?) {
                let Some(value) = value else { continue };
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
        let code = selected(output.printed(), taken.end("looked up")?);
        damage.end()?;
        Ok(code)
    }
}

/// Keys that could not be looked up because of damage.
#[derive(Default)]
struct Damage {
    keys: u64,
    first: Option<FlashError>,
}

impl Damage {
    /// The values of `keys`; `None` for a key that cannot be looked up because of damage.
    fn look_up(&mut self, index: &FlashIndex, keys: &[&[u8]]) -> Result<Vec<Option<Option<Vec<u8>>>>> {
        match index.get_many(keys) {
            Ok(values) => return Ok(values.into_iter().map(Some).collect()),
            Err(FlashError::Damaged { .. } | FlashError::Io { .. }) => {}
            Err(error) => return Err(explain(error)),
        }
        let one_by_one = keys.iter().map(|key| match index.get(key) {
            Ok(value) => Some(value),
            Err(error) => {
                self.keys += 1;
                self.first.get_or_insert(error);
                None
            }
        });
        Ok(one_by_one.collect())
    }

    fn end(self) -> Result<()> {
        let Some(first) = self.first else { return Ok(()) };
        let keys = self.keys;
        Err(explain(first)).with_context(|| {
            format!(
                "{keys} keys cannot be looked up because of damage; see `springbloom index repair --help`"
            )
        })
    }
}
