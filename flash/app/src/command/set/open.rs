//! Opening a set: the options that all subcommands share, and errors.

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};
use springbloom_console::Step;
use springbloom_console::bad_input;
use springbloom_console::output::warn;
use springbloom_console::proc;
use springbloom_console::sizes::{self, Size};

use crate::flash::{
    Access, BufferSettings, FileStorage, FlashError, FlashFilter, FlushPolicy, GROUP_PAGES_MAX, MemorySize,
    drawn, explain, explain_opening, open_recovered,
};

/// Memory of a set while it is open
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BufferOptions {
    /// Memory for buffered keys, tables and pages
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    memory: Size,
    /// Part of --memory that caches pages
    #[arg(long, value_name = "SIZE", default_value = "0")]
    cache: Size,
    /// Which pages to write when the memory is full
    #[arg(long, value_enum, default_value_t = Policy::Dirtiest)]
    policy: Policy,
    /// Contiguous pages written together
    #[arg(long, value_name = "PAGES", default_value_t = 16,
        value_parser = sizes::whole_within::<u32>(1..=u64::from(GROUP_PAGES_MAX)))]
    group_pages: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// The group with the most buffered keys: fewest writes
    Dirtiest,
    /// Groups in file order: sequential writes
    Sequential,
}

impl BufferOptions {
    pub(super) fn settings(&self) -> Result<BufferSettings> {
        if let Some(bytes) = proc::memory_bytes().filter(|bytes| self.memory.bytes > *bytes) {
            let (asked, there) = (self.memory, Size { bytes });
            return Err(bad_input(format!(
                "--memory {asked} is more than the memory of this machine, {there}"
            )));
        }
        if self.cache.bytes > self.memory.bytes {
            let (cache, memory) = (self.cache, self.memory);
            return Err(bad_input(format!(
                "--cache {cache} is part of the memory and must be less than --memory {memory}"
            )));
        }
        Ok(BufferSettings {
            memory: MemorySize::Bytes(self.memory.bytes),
            policy: match self.policy {
                Policy::Dirtiest => FlushPolicy::DirtiestGroupFirst,
                Policy::Sequential => FlushPolicy::Sequential,
            },
            group_pages: self.group_pages,
            cache_bytes: self.cache.bytes,
        })
    }
}

/// Opens the set in `directory` to change it, recovering what was acknowledged.
pub(super) fn open(directory: &Path, buffer: &BufferOptions) -> Result<FlashFilter> {
    let settings = buffer.settings()?;
    open_as(directory, Access::Write, settings).map_err(|error| explain_opening(directory, "set", error))
}

/// Opens the set in `directory` for lookups. Writes nothing, unless the last command on it was interrupted.
pub(super) fn open_to_look_up(directory: &Path, buffer: &BufferOptions) -> Result<FlashFilter> {
    let settings = buffer.settings()?;
    let opened = open_recovered(
        directory,
        || open_as(directory, Access::Read, settings),
        FlashFilter::is_recovered,
        || open_as(directory, Access::Write, settings)?.close_watched(&mut drawn("closing the set")),
    );
    opened.map_err(|error| explain_opening(directory, "set", error))
}

/// Opens the set in `directory` to inspect it. Writes nothing.
pub(super) fn open_to_read(directory: &Path, buffer: &BufferOptions) -> Result<FlashFilter> {
    let settings = buffer.settings()?;
    open_as(directory, Access::Read, settings).map_err(|error| explain_opening(directory, "set", error))
}

fn open_as(directory: &Path, access: Access, settings: BufferSettings) -> Result<FlashFilter, FlashError> {
    let mut step = drawn(&format!("opening {}", directory.display()));
    FlashFilter::open_watched(FileStorage::shared(directory, access)?, settings, &mut step)
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
    filter.close_watched(&mut drawn("closing the set")).map_err(explain)
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
