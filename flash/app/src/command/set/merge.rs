//! `springflash set merge`: adds all keys of some sets to another.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use springbloom_console::Step;
use springbloom_console::bad_input;

use super::open::{BufferOptions, close, open, open_to_look_up};
use crate::flash::{FlashError, WhenFull, explain, is_same};

/// Add all keys of other sets, made with the same settings, to a set
#[derive(Args, Debug)]
pub(crate) struct Merge {
    /// Folder of the set that takes the keys
    set: PathBuf,
    /// Folders of the sets whose keys are added
    #[arg(required = true)]
    from: Vec<PathBuf>,
    /// Merge more keys than the set was built for: its false positive rate rises, and is told at the end
    #[arg(long)]
    over_capacity: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

impl Merge {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = open(&self.set, &self.buffer)?;
        if self.over_capacity {
            filter.set_when_full(WhenFull::Exceed);
        }
        let pages = u64::from(filter.info().layers[0].header.geometry.page_count);
        for path in &self.from {
            if is_same(path, &self.set) {
                return Err(bad_input(format!("{} cannot be merged into itself", path.display())));
            }
            let other = open_to_look_up(path, &self.buffer)?;
            let step = Step::of(&format!("merging {}", path.display()), pages);
            let mut done = 0;
            let merged = filter.merge_from(&other, &mut |now, _| {
                step.advance(now - done);
                done = now;
            });
            merged.map_err(|error| match error {
                FlashError::Incompatible { .. } => bad_input(format!(
                    "{} cannot be merged into {}: {error}; both must have the same --capacity, --fpr and layout, and must not \
                     have grown",
                    path.display(),
                    self.set.display()
                )),
                FlashError::Full { capacity_keys, keys, .. } => anyhow::anyhow!(
                    "{} was built for {capacity_keys} keys, and with those of {} it would hold about {keys}; nothing of that set was \
                     merged. Go on with --over-capacity, which raises the false positive rate, or make a larger set of the original keys",
                    self.set.display(),
                    path.display()
                ),
                _ => explain(error),
            })?;
        }
        close(filter, &self.set)?;
        Ok(ExitCode::SUCCESS)
    }
}
