//! `springflash set create`: a new, empty set.

use std::path::PathBuf;
use std::process::ExitCode;

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
    pub(super) fn run(&self) -> Result<ExitCode> {
        let settings = FilterSettings::new(self.capacity, self.fpr).growing(self.grow);
        let memory = self.memory.settings()?;
        folder::require_parent(&self.set)?;
        let mut step = drawn(&format!("making {}", self.set.display()));
        let filter = FileStorage::make(&self.set, |storage| {
            FlashFilter::create_watched(storage, &settings, memory, &mut step)
        })
        .map_err(|error| self.explain(error))
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
        Ok(ExitCode::SUCCESS)
    }

    /// A capacity that the disk cannot hold is input that the user can correct.
    fn explain(&self, error: FlashError) -> anyhow::Error {
        match error {
            FlashError::NoSpace { needed_bytes, free_bytes, .. } => bad_input(format!(
                "{} would take {}, its file system has {} free; choose a smaller --capacity or another disk",
                self.set.display(),
                Size { bytes: needed_bytes },
                Size { bytes: free_bytes }
            )),
            error => explain(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use springbloom_console::failure::{EXIT_BAD_INPUT, exit_code};

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        create: Create,
    }

    #[test]
    fn a_capacity_that_the_disk_cannot_hold_is_bad_input_with_both_figures() {
        let create = Program::parse_from(["set", "seen", "--capacity", "1e12"]).create;
        let error = create.explain(FlashError::NoSpace {
            name: "seen/filter-0000".to_owned(),
            needed_bytes: 3 << 40,
            free_bytes: 5 << 30,
            inserted: 0,
        });
        assert_eq!(exit_code(&error), EXIT_BAD_INPUT);
        assert!(
            error.to_string().contains("seen would take 3 TiB, its file system has 5 GiB free"),
            "{error}"
        );
    }
}
