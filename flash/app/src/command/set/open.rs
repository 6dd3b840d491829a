//! Opening a set: its memory, and warnings.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use springbloom_console::output::warn;
use springbloom_console::sizes::Size;
use springbloom_console::{Step, bad_input, proc};
use springbloom_flash_filter::{BufferSettings, FlashFilter};

use crate::flash::explain;
use crate::opening::SET;

/// Memory of a set while it is open
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MemoryOptions {
    /// Memory for buffered keys, tables and pages
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub(super) memory: Size,
    /// Part of --memory that caches pages
    #[arg(long, value_name = "SIZE", default_value = "0")]
    cache: Size,
}

impl MemoryOptions {
    pub(super) fn settings(&self) -> Result<BufferSettings> {
        let MemoryOptions { memory, cache } = *self;
        if let Some(bytes) = proc::memory_bytes().filter(|bytes| memory.bytes > *bytes) {
            let there = Size { bytes };
            return Err(bad_input(format!(
                "--memory {memory} is more than the memory of this machine, {there}"
            )));
        }
        if cache.bytes > memory.bytes {
            return Err(bad_input(format!(
                "--cache {cache} is part of the memory and must be less than --memory {memory}"
            )));
        }
        Ok(BufferSettings { cache_bytes: cache.bytes, ..BufferSettings::with_memory_bytes(memory.bytes) })
    }
}

/// Flushes the pending updates of the set in `directory` and closes it. Tells the rate of a set that is over its capacity.
pub(super) fn close(filter: FlashFilter, directory: &Path) -> Result<()> {
    let step = Step::waiting("closing the set");
    if filter.is_full() {
        // The rate is known once all keys are in their pages.
        filter.flush().map_err(explain)?;
    }
    drop(step);
    warn_if_overfull(&filter, directory);
    SET.close(filter)
}

/// A rate so much above the one asked for is told.
const HIGH_RATE: f64 = 1.5;

/// Warns of a set that errs far more often than it was built for, as it holds more keys.
pub(super) fn warn_if_overfull(filter: &FlashFilter, set: &Path) {
    let info = filter.info();
    let (rate, built_for) = (info.estimated_fpr, info.layers[0].header.chain_fpr);
    if rate > HIGH_RATE * built_for && filter.is_full() {
        let keys: f64 = info.layers.iter().map(|layer| layer.estimated_keys).sum();
        warn(format_args!(
            "{} holds about {keys:.0} keys, more than the {} it was built for: it takes {rate:.2e} of the absent keys for present, \
             not {built_for:.2e}",
            set.display(),
            info.layers[0].header.capacity_keys
        ));
    }
}
