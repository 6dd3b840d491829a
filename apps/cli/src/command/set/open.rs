//! Options that every subcommand which opens a set has, and errors that are the user's to correct.

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};
use springbloom_flash::{BufferSettings, FlashError, FlashFilter, FlushPolicy, MemorySize};

use crate::failure::bad_input;
use crate::sizes::Size;

/// How a set uses memory while it is open
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BufferOptions {
    /// Memory for everything: waiting keys, tables, buffers
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    memory: Size,
    /// How much of the memory keeps pages that were read lately
    #[arg(long, value_name = "SIZE", default_value = "0")]
    cache: Size,
    /// Which pages are written when the memory is full
    #[arg(long, value_enum, default_value_t = Policy::Dirtiest)]
    policy: Policy,
    /// Contiguous pages that are written together
    #[arg(long, value_name = "PAGES", default_value_t = 16)]
    group_pages: u32,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// The group with the most waiting keys: fewest writes
    Dirtiest,
    /// Groups in the order of the file: sequential writes
    Sequential,
}

impl BufferOptions {
    pub(super) fn settings(&self) -> BufferSettings {
        BufferSettings {
            memory: MemorySize::Bytes(self.memory.bytes),
            policy: match self.policy {
                Policy::Dirtiest => FlushPolicy::DirtiestGroupFirst,
                Policy::Sequential => FlushPolicy::Sequential,
            },
            group_pages: self.group_pages,
            cache_bytes: self.cache.bytes,
        }
    }
}

/// Opens the set in `directory`, recovering what was acknowledged.
pub(super) fn open(directory: &Path, buffer: &BufferOptions) -> Result<FlashFilter> {
    FlashFilter::open(directory, buffer.settings()).map_err(|error| match error {
        FlashError::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            if directory.join("filter-0000").exists() {
                bad_input(format!("{error}: the set is incomplete; restore the file from a copy"))
            } else {
                let set = directory.display();
                bad_input(format!("{set} holds no set; `springbloom set create` makes one"))
            }
        }
        _ => explain(error),
    })
}

/// Says on standard error that a set has reached its capacity.
pub(super) fn warn_if_full(filter: &FlashFilter, set: &Path) {
    if filter.is_full() {
        eprintln!(
            "springbloom: {} is full: its false positive rate is {:.2e} now and rises; `springbloom set create` with a larger \
             --capacity, or with --grow, makes one that takes more",
            set.display(),
            filter.estimated_fpr()
        );
    }
}

/// Errors of settings and files are the user's to correct; those of the machine are not.
pub(super) fn explain(error: FlashError) -> anyhow::Error {
    match error {
        FlashError::Io { .. } | FlashError::WriterFailed { .. } => error.into(),
        _ => bad_input(error.to_string()),
    }
}
