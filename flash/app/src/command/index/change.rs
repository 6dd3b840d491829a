//! `springflash index put` and `delete`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use springbloom_console::output::tell;

use super::get::{BATCH_KEYS, Damage};
use super::open;
use super::pair::{check, pairs, tell_others};
use crate::exit_codes::selected;
use crate::flash::explain;
use crate::lines::{BATCH_LINES, LineOptions, Reading};
use crate::opening::INDEX;

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
}

impl Put {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index)?;
        let reading = Reading { batch_lines: BATCH_LINES, check: &check, prints: false };
        let taken = self.lines.each_batch(&reading, &mut |batch| {
            let pairs: Vec<(&[u8], &[u8])> =
                pairs(batch).iter().map(|pair| (pair.key, pair.value.unwrap_or_default())).collect();
            index.put_many(&pairs).map_err(explain)?;
            Ok(ControlFlow::Continue(()))
        });
        // Whatever went wrong, the lines before it are kept.
        let closed = INDEX.close(index);
        let taken = taken?;
        closed?;
        taken.end("put into the index")?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Delete keys from an index
///
/// Each line is a key, or a line of `put` or from `get`, whose value may differ from that of the index. Keys that are not in the index are
/// counted; if nothing is deleted, the exit code is 3. Reads each key's record. Deletions are durable when the command has ended.
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
}

impl Delete {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index)?;
        let reading = Reading { batch_lines: BATCH_KEYS, check: &check, prints: false };
        let (mut deleted, mut absent, mut others, mut damage) = (0, 0, 0, Damage::default());
        let taken = self.keys.each_batch(&reading, &mut |batch| {
            let pairs = pairs(batch);
            let keys: Vec<&[u8]> = pairs.iter().map(|pair| pair.key).collect();
            for (pair, found) in pairs.iter().zip(damage.look_up(&index, &keys)?) {
                // One that damage hides may be there, and can be deleted.
                if let Some(None) = found {
                    absent += 1;
                    continue;
                }
                others += u64::from(found.flatten().is_some_and(|stored| pair.is_other(&stored)));
                index.delete(pair.key).map_err(explain)?;
                deleted += 1;
            }
            Ok(ControlFlow::Continue(()))
        });
        // Whatever went wrong, the lines before it are kept.
        let closed = INDEX.close(index);
        let taken = taken?;
        closed?;
        taken.end("deleted")?;
        tell_others(others);
        if absent > 0 {
            tell(format_args!("keys that were not in the index: {absent} of {}", absent + deleted));
        }
        Ok(selected(deleted))
    }
}
