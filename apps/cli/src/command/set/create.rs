//! `springbloom set create`: a new, empty set.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use springbloom_flash::{FilterSettings, FlashFilter, Layout};

use super::open::{BufferOptions, explain};
use crate::failure::bad_input;
use crate::sizes::Size;

/// Make a new, empty set
#[derive(Args, Debug)]
pub(crate) struct Create {
    /// Folder for the set; it is made if it does not exist
    set: PathBuf,
    /// Distinct keys that the set is built for
    #[arg(long, value_name = "KEYS")]
    capacity: u64,
    /// Share of absent keys that are taken for present when the set is full
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    fpr: f64,
    /// Size by bits per key instead of by rate; needs --probes
    #[arg(long, value_name = "BITS", requires = "probes", conflicts_with = "fpr")]
    bits_per_key: Option<f64>,
    /// Bits set per key
    #[arg(long, value_name = "BITS")]
    probes: Option<u8>,
    /// How bits are spread over pages
    #[arg(long, value_enum, default_value_t = LayoutName::Hierarchical)]
    layout: LayoutName,
    /// Page size: what a lookup reads
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    page_size: Size,
    /// Add a filter of twice the size whenever the set is full, keeping the rate
    #[arg(long)]
    grow: bool,
    /// Keep no log: keys are durable only when a command has ended
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
    /// Bits anywhere: up to one read per bit; the baseline of the paper
    Flat,
}

impl Create {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let page_bytes = u32::try_from(self.page_size.bytes)
            .map_err(|_| bad_input(format!("a page of {} is too large", self.page_size)))?;
        let mut settings = match (self.bits_per_key, self.probes) {
            (Some(bits), Some(probes)) => FilterSettings::with_bits_per_key(self.capacity, bits, probes),
            (_, probes) => {
                let settings = FilterSettings::new(self.capacity, self.fpr);
                probes.map_or(settings, |probes| settings.probes(probes))
            }
        };
        settings = settings.page_bytes(page_bytes).growing(self.grow).logged(!self.no_log).layout(match self
            .layout
        {
            LayoutName::Hierarchical => Layout::Hierarchical,
            LayoutName::TwoChoices => Layout::TwoChoices,
            LayoutName::Flat => Layout::Flat,
        });
        let filter = FlashFilter::create(&self.set, &settings, self.buffer.settings()).map_err(explain)?;
        let header = filter.info().layers[0].header;
        eprintln!(
            "{}: {} for {} keys at a rate of {:.2e}",
            self.set.display(),
            Size { bytes: header.file_bytes() },
            header.capacity_keys,
            header.chain_fpr
        );
        Ok(ExitCode::SUCCESS)
    }
}
