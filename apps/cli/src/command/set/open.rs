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
    BufferSettings, FlashError, FlashFilter, FlushPolicy, GROUP_PAGES_MAX, MemorySize, explain, is_missing,
    open_recovered,
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
    let _step = Step::waiting(&format!("opening {}", directory.display()));
    FlashFilter::open(directory, settings).map_err(|error| explain_opening(directory, error))
}

/// Opens the set in `directory` for lookups. Writes nothing, unless the last command on it was interrupted.
pub(super) fn open_to_look_up(directory: &Path, buffer: &BufferOptions) -> Result<FlashFilter> {
    let settings = buffer.settings()?;
    let _step = Step::waiting(&format!("opening {}", directory.display()));
    let opened = open_recovered(
        directory,
        || FlashFilter::open_read_only(directory, settings),
        FlashFilter::is_recovered,
        || FlashFilter::open(directory, settings).and_then(FlashFilter::close),
    );
    opened.map_err(|error| explain_opening(directory, error))
}

/// Opens the set in `directory` to inspect it. Writes nothing.
pub(super) fn open_to_read(directory: &Path, buffer: &BufferOptions) -> Result<FlashFilter> {
    let settings = buffer.settings()?;
    let _step = Step::waiting(&format!("opening {}", directory.display()));
    FlashFilter::open_read_only(directory, settings).map_err(|error| explain_opening(directory, error))
}

/// Flushes the pending updates and closes `filter`.
pub(super) fn close(filter: FlashFilter) -> Result<()> {
    let _step = Step::waiting("closing the set");
    filter.close().map_err(explain)
}

fn explain_opening(directory: &Path, error: FlashError) -> anyhow::Error {
    match error {
        _ if !is_missing(&error) => explain(error),
        _ if ["filter-0000", "wal-a", "wal-b"].iter().any(|file| directory.join(file).exists()) => {
            bad_input(format!(
                "{error}: the set is incomplete; restore the file from a copy, or see `springbloom set repair --help`"
            ))
        }
        _ => bad_input(format!(
            "{} holds no set; create one with `springbloom set create`",
            directory.display()
        )),
    }
}

/// Warns that a set has reached its capacity.
pub(super) fn warn_if_full(filter: &FlashFilter, set: &Path) {
    if filter.is_full() {
        warn(format_args!(
            "{} is full: its false positive rate is {:.2e} and rises; make a larger one with `springbloom set create` and a \
             larger --capacity or --grow",
            set.display(),
            filter.estimated_fpr()
        ));
    }
}
