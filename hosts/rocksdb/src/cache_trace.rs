//! A block cache trace, as `DB::StartBlockCacheTrace` writes it: which blocks lookups asked for, and which were missing.

use std::path::Path;

use crate::{Error, ffi};

pub use ffi::{TracedBlocks, TracedFamily};

/// Reads a trace: its column families by name. The memory that it takes grows with the lookups in the trace.
pub fn read(path: &Path) -> Result<Vec<TracedFamily>, Error> {
    ffi::read_cache_trace(path).map_err(|message| Error::Table { path: path.to_owned(), message })
}
