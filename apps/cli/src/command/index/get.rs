//! `springbloom index get`: looks keys up.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::EXIT_NOTHING_FOUND;
use super::open::{MemoryOptions, explain, open};
use crate::command::set::keys::KeyOptions;

/// Print keys with their values
///
/// Each key that is in the index is printed with a tab and its value. With --absent, the keys that are not there are printed.
#[derive(Args, Debug)]
pub(crate) struct Get {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    keys: KeyOptions,
    /// Print the keys that are not in the index
    #[arg(short = 'v', long)]
    absent: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Get {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index, &self.memory)?;
        let mut output = self.keys.output();
        let mut line = Vec::new();
        self.keys.each_batch(&mut |batch| {
            let keys: Vec<&[u8]> = (0..batch.digests.len()).map(|n| batch.key(n)).collect();
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
            Ok(())
        })?;
        output.finish()?;
        Ok(if output.printed() == 0 { ExitCode::from(EXIT_NOTHING_FOUND) } else { ExitCode::SUCCESS })
    }
}
