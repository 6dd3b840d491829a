//! `springflash set create`: a new, empty set.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use springbloom_console::output::tell;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{bad_input, folder};
use springbloom_flash_filter::{FileStorage, FilterSettings, FlashError, FlashFilter};

use super::open::MemoryOptions;
use crate::flash::{drawn, explain};

/// Create an empty set
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Folder for the set: a new one, or an empty one
    set: PathBuf,
    /// Distinct keys that the set should hold, such as 1000000, 1e9, 2.5M or 1G (multiples of 1,000). A full set takes no
    /// further key, unless it grows
    #[arg(long, value_name = "KEYS", value_parser = sizes::count)]
    capacity: u64,
    /// False positive rate of the full set: the share of absent keys that it reports as present
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    fpr: f64,
    /// Add a filter of twice the size whenever the set is full, at the same false positive rate
    #[arg(long)]
    grow: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Create {
    pub(super) fn run(&self) -> Result<()> {
        let settings = FilterSettings::new(self.capacity, self.fpr).growing(self.grow);
        let memory = self.memory.settings()?;
        folder::require_parent(&self.set)?;
        let mut step = drawn(&format!("making {}", self.set.display()));
        let filter = FileStorage::make(&self.set, |storage| {
            FlashFilter::create_watched(storage, &settings, memory, &mut step)
        })
        .map_err(|error| match error {
            FlashError::NoSpace { .. } => bad_input(explain(error).to_string()),
            error => explain(error),
        })
        .with_context(|| format!("cannot create a set for {} keys", self.capacity))?;
        drop(step);
        let header = filter.info().layers[0].header;
        tell(format_args!(
            "{}: {} for {} keys at a rate of {:.2e}",
            self.set.display(),
            Size { bytes: header.file_bytes() },
            header.capacity_keys,
            header.chain_fpr
        ));
        Ok(())
    }
}
