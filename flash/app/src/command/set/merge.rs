//! `springflash set merge`: adds all keys of some sets to another.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use springbloom_console::bad_input;
use springbloom_flash_filter::{FlashError, WhenFull};

use super::open::{MemoryOptions, close};
use crate::flash::{drawn, explain, is_same};
use crate::opening::SET;

/// Add all keys of other sets to a set
///
/// A set of the same size and rate is united with it, if there is room for the keys of both. Filters of any other set are copied: their
/// sizes and rates add up, a lookup reads a page of each, and there is as much room for new keys as before. A merge that would raise
/// the rate of the full set to more than 1.5 times the one asked for is refused.
#[derive(Args, Debug)]
pub(crate) struct Merge {
    /// Folder of the set that takes the keys
    set: PathBuf,
    /// Folders of the sets whose keys are added
    #[arg(required = true)]
    from: Vec<PathBuf>,
    /// Merge more keys than the set was built for: its false positive rate rises, and is reported at the end
    #[arg(long)]
    over_capacity: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Merge {
    pub(super) fn run(&self) -> Result<()> {
        let filter = SET.open(&self.set, self.memory.settings()?)?;
        if self.over_capacity {
            filter.set_when_full(WhenFull::Exceed);
        }
        for path in &self.from {
            if is_same(path, &self.set) {
                return Err(bad_input(format!("{} cannot be merged into itself", path.display())));
            }
            let other = SET.open_to_look_up(path, self.memory.settings()?)?;
            let merged = filter.merge_from(&other, &mut drawn(&format!("merging {}", path.display())));
            merged.map_err(|error| match error {
                FlashError::RateTooHigh { got, expected, .. } => anyhow::anyhow!(
                    "{} was made for a false positive rate of {expected:.2e}, and with the filters of {} it would have {got:.2e}; nothing \
                     of that set was merged. Go on with --over-capacity, or look in both with `springflash set check --also`",
                    self.set.display(),
                    path.display()
                ),
                FlashError::Full { capacity_keys, keys, .. } => anyhow::anyhow!(
                    "{} was built for {capacity_keys} keys, and with those of {} it would hold about {keys}; nothing of that set was \
                     merged. Go on with --over-capacity, which raises the false positive rate, or make a larger set of the original keys",
                    self.set.display(),
                    path.display()
                ),
                _ => explain(error),
            })?;
        }
        close(filter, &self.set)
    }
}
