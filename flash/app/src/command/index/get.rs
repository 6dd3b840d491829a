//! `springflash index get`: looks keys up.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use springbloom_console::bad_input;
use springbloom_flash_index::{FlashError, FlashIndex, IndexMemory};

use super::pair::{check, join, pairs, tell_others};
use crate::exit_codes::selected;
use crate::flash::explain;
use crate::lines::{LineOptions, Reading};
use crate::opening::INDEX;

/// Keys looked up together: their values are in memory at once, 64 KiB each at most.
pub(super) const BATCH_KEYS: usize = 256;

const NO_LINE: &str = "has the end of a line in it, or a carriage return at its end; --null may print it, and in Python and Rust \
                       `FlashIndex` returns any value";

/// Print keys with their values
///
/// Each line is a key, or a line of `put`, whose value may differ from that of the index. Each key that is in the index is printed with a
/// tab and its value, as `put` and `delete` take them. A value that does not fit in a line ends the command. With --absent, the missing
/// keys are printed instead.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    /// Print the keys that are not in the index
    #[arg(short = 'v', long)]
    absent: bool,
}

impl Get {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = INDEX.open_to_look_up(&self.index, IndexMemory::standard())?;
        let mut output = self.keys.output();
        let mut line = Vec::new();
        let reading = Reading { batch_lines: BATCH_KEYS, check: &check, prints: true };
        let (mut damage, mut others) = (Damage::default(), 0);
        let taken = self.keys.each_batch(&reading, &mut |batch| {
            let pairs = pairs(batch);
            let keys: Vec<&[u8]> = pairs.iter().map(|pair| pair.key).collect();
            for (n, value) in damage.look_up(&index, &keys)?.into_iter().enumerate() {
                let Some(value) = value else { continue };
                others += u64::from(value.as_ref().is_some_and(|stored| pairs[n].is_other(stored)));
                if value.is_none() == self.absent {
                    join(keys[n], value.as_deref(), &mut line);
                    if value.is_some() && !output.holds(&line) {
                        output.flush()?;
                        return Err(bad_input(format!(
                            "{}: the value of this key {NO_LINE}",
                            batch.place(n)
                        )));
                    }
                    output.print(&line)?;
                }
            }
            Ok(if output.flush()? { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        taken.end("looked up")?;
        tell_others(others);
        damage.end()?;
        Ok(selected(output.printed))
    }
}

/// Keys that could not be looked up because of damage or of a read that failed.
#[derive(Default)]
pub(super) struct Damage {
    keys: u64,
    first: Option<FlashError>,
}

impl Damage {
    /// The values of `keys`; `None` for a key that cannot be looked up.
    pub(super) fn look_up(
        &mut self,
        index: &FlashIndex,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<Option<Vec<u8>>>>> {
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
        let cause = match first {
            FlashError::Io { .. } => "as a read failed",
            _ => "because of damage; see `springflash index repair --help`",
        };
        Err(explain(first)).with_context(|| format!("{keys} keys cannot be looked up {cause}"))
    }
}
