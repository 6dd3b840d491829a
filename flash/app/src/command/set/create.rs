//! `springflash set create`: a new, empty set.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use springbloom_console::output::tell;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{bad_input, folder};

use super::open::BufferOptions;
use crate::flash::{
    FileStorage, FilterSettings, FlashError, FlashFilter, Layout, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PROBES_MAX,
    drawn, explain,
};

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
    /// Size in bits per key, instead of --fpr; needs --probes
    #[arg(long, value_name = "BITS", requires = "probes", conflicts_with = "fpr",
        value_parser = sizes::number_within(1.0..=1024.0))]
    bits_per_key: Option<f64>,
    /// Bits set per key
    #[arg(long, value_name = "BITS", value_parser = sizes::whole_within::<u8>(1..=u64::from(PROBES_MAX)))]
    probes: Option<u8>,
    /// How the bits of a key are spread over pages
    #[arg(long, value_enum, default_value_t = LayoutName::Hierarchical)]
    layout: LayoutName,
    /// Bytes of a page, the unit of a read: 2, 4, 8 or 16 KiB
    #[arg(long, value_name = "SIZE", default_value = "4KiB",
        value_parser = sizes::within(PAGE_BYTES_MIN.into()..=PAGE_BYTES_MAX.into(), PAGE_BYTES_MIN.into()))]
    page_size: Size,
    /// Add a filter of twice the size whenever the set is full, at the same false positive rate
    #[arg(long)]
    grow: bool,
    /// Keep no write-ahead log: keys are durable only when a command has ended
    #[arg(long)]
    no_log: bool,
    #[command(flatten)]
    buffer: BufferOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LayoutName {
    /// One page per key: one read per lookup
    Hierarchical,
    /// The emptier of two pages: two reads per lookup
    TwoChoices,
}

impl Create {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let (settings, buffer) = (self.settings(), self.buffer.settings()?);
        folder::require_parent(&self.set)?;
        let mut step = drawn(&format!("making {}", self.set.display()));
        let filter = FileStorage::make(&self.set, |storage| {
            FlashFilter::create_watched(storage, &settings, buffer, &mut step)
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

    fn settings(&self) -> FilterSettings {
        let settings = match (self.bits_per_key, self.probes) {
            (Some(bits), Some(probes)) => FilterSettings::with_bits_per_key(self.capacity, bits, probes),
            (_, probes) => {
                let settings = FilterSettings::new(self.capacity, self.fpr);
                probes.map_or(settings, |probes| settings.probes(probes))
            }
        };
        // Bounded by the parser.
        let page_bytes = self.page_size.bytes as u32;
        settings.page_bytes(page_bytes).growing(self.grow).logged(!self.no_log).layout(match self.layout {
            LayoutName::Hierarchical => Layout::Hierarchical,
            LayoutName::TwoChoices => Layout::TwoChoices,
        })
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
