//! What the commands use of the structures on flash, and what their errors mean to the user.

pub(crate) use springbloom_flash::device::SECTOR_BYTES;
pub(crate) use springbloom_flash::index::{
    FlashIndex, INDEX_PAGE_BYTES, IndexInfo, IndexMemory, IndexSettings, IndexStats, IndexVerifyReport,
    KEY_BYTES_MAX, StreamLookup, VALUE_BYTES_MAX,
};
pub(crate) use springbloom_flash::{
    BufferSettings, FilterInfo, FilterSettings, FlashError, FlashFilter, FlushPolicy, GROUP_PAGES_MAX,
    LayerInfo, LayerReport, Layout, MemorySize, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PROBES_MAX,
};

use crate::failure::bad_input;

/// Damage and failures of the machine stay what they are; everything else is the user's to correct.
pub(crate) fn explain(error: FlashError) -> anyhow::Error {
    match error {
        FlashError::Io { .. }
        | FlashError::WriterFailed { .. }
        | FlashError::Damaged { .. }
        | FlashError::Truncated { .. } => error.into(),
        _ => bad_input(error.to_string()),
    }
}

/// Whether the error says that a file is not there.
pub(crate) fn is_missing(error: &FlashError) -> bool {
    matches!(error, FlashError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
}
