//! Opening an index: the options that all subcommands share, and errors.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use springbloom_console::sizes;

use crate::flash::{
    Access, FileStorage, FlashError, FlashIndex, IndexMemory, drawn, explain, explain_opening, open_recovered,
};

/// Memory of an index while it is open
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct MemoryOptions {
    /// Memory for buffered entries, in bytes per record (0 to 64); more memory means fewer writes
    #[arg(long, value_name = "BYTES", default_value_t = IndexMemory::standard().pending_bytes_per_record,
        value_parser = sizes::number_within(0.0..=64.0))]
    pending: f64,
    /// Disable the pre-filter: saves half a byte of memory per key and costs a read per absent key
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

/// Opens the index in `directory` to change it, recovering what was acknowledged.
pub(crate) fn open(directory: &Path, memory: &MemoryOptions) -> Result<FlashIndex> {
    open_as(directory, Access::Write, memory).map_err(|error| explain_opening(directory, "index", error))
}

/// Opens the index in `directory` for lookups. Writes nothing, unless the last command on it was interrupted.
pub(crate) fn open_to_look_up(directory: &Path, memory: &MemoryOptions) -> Result<FlashIndex> {
    let opened = open_recovered(
        directory,
        || open_as(directory, Access::Read, memory),
        FlashIndex::was_closed,
        || open_as(directory, Access::Write, memory)?.close_watched(&mut drawn("closing the index")),
    );
    opened.map_err(|error| explain_opening(directory, "index", error))
}

/// Opens the index in `directory` to inspect it. Writes nothing.
pub(crate) fn open_to_read(directory: &Path, memory: &MemoryOptions) -> Result<FlashIndex> {
    open_as(directory, Access::Read, memory).map_err(|error| explain_opening(directory, "index", error))
}

fn open_as(directory: &Path, access: Access, memory: &MemoryOptions) -> Result<FlashIndex, FlashError> {
    let mut step = drawn(&format!("opening {}", directory.display()));
    FlashIndex::open_watched(FileStorage::shared(directory, access)?, memory.memory(), &mut step)
}

/// Makes the changes durable and closes `index`.
pub(crate) fn close(index: FlashIndex) -> Result<()> {
    index.close_watched(&mut drawn("closing the index")).map_err(explain)
}
