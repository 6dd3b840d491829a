//! `springbloom index put` and `delete`: what changes an index.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

use super::open::{MemoryOptions, explain, open};
use crate::command::set::keys::KeyOptions;

/// Put keys and values into an index
///
/// Each line is a key, a tab, and the value; without a tab, the value is empty. A key that is there gets the new value. Lines
/// are durable when the command has ended.
#[derive(Args, Debug)]
pub(crate) struct Put {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    lines: KeyOptions,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Put {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index, &self.memory)?;
        self.lines.each_batch(&mut |batch| {
            let pairs: Vec<(&[u8], &[u8])> = (0..batch.digests.len())
                .map(|n| {
                    let line = batch.key(n);
                    let tab = line.iter().position(|byte| *byte == b'\t');
                    tab.map_or((line, &[][..]), |tab| (&line[..tab], &line[tab + 1..]))
                })
                .collect();
            index.put_many(&pairs).map_err(explain)
        })?;
        index.close().map_err(explain)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Delete keys from an index
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Folder of the index
    index: PathBuf,
    #[command(flatten)]
    keys: KeyOptions,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Delete {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let index = open(&self.index, &self.memory)?;
        self.keys.each_batch(&mut |batch| {
            (0..batch.digests.len()).try_for_each(|n| index.delete(batch.key(n))).map_err(explain)
        })?;
        index.close().map_err(explain)?;
        Ok(ExitCode::SUCCESS)
    }
}
