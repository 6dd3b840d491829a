//! Options that every subcommand which opens an index has, and errors that are the user's to correct.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use springbloom_flash::FlashError;
use springbloom_flash::index::{FlashIndex, IndexMemory};

use crate::failure::bad_input;

/// How an index uses memory while it is open
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MemoryOptions {
    /// Memory for entries that wait to be written, in bytes per record; more of it means less writing
    #[arg(long, value_name = "BYTES", default_value_t = IndexMemory::standard().pending_bytes_per_record)]
    pending: f64,
    /// Do without the pre-filter: half a byte per key less memory, and a read for each absent key
    #[arg(long)]
    no_prefilter: bool,
}

impl MemoryOptions {
    pub(crate) fn memory(&self) -> IndexMemory {
        let memory =
            if self.no_prefilter { IndexMemory::without_prefilter() } else { IndexMemory::standard() };
        IndexMemory { pending_bytes_per_record: self.pending, ..memory }
    }
}

/// Opens the index in `directory`, recovering what was acknowledged.
pub(crate) fn open(directory: &Path, memory: &MemoryOptions) -> Result<FlashIndex> {
    FlashIndex::open(directory, memory.memory()).map_err(explain)
}

/// Errors of settings and files are the user's to correct; those of the machine are not.
pub(crate) fn explain(error: FlashError) -> anyhow::Error {
    match error {
        FlashError::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            bad_input(format!("{error}; `springbloom index create` makes an index"))
        }
        FlashError::Io { .. } | FlashError::WriterFailed { .. } => error.into(),
        _ => bad_input(error.to_string()),
    }
}
