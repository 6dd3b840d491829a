//! A block cache trace, as `DB::StartBlockCacheTrace` writes it: which blocks lookups asked for, and which were missing.

use std::path::Path;

use crate::{Error, ffi};

/// Blocks of a kind that lookups asked the block cache for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracedBlocks {
    /// How often one was asked for.
    pub asked: u64,
    /// How often it was not there, and was read.
    pub missing: u64,
    /// Bytes that were read.
    pub missing_bytes: u64,
}

/// What the lookups of a column family asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedFamily {
    /// Its name.
    pub name: String,
    /// Calls of `Get` and `MultiGet` that reached a table.
    pub lookups: u64,
    /// Blocks of data.
    pub data: TracedBlocks,
    /// Blocks of indexes.
    pub index: TracedBlocks,
    /// Blocks of filters.
    pub filters: TracedBlocks,
}

/// Reads a trace: its column families by name. The memory that it takes grows with the lookups in the trace.
pub fn read(path: &Path) -> Result<Vec<TracedFamily>, Error> {
    ffi::read_cache_trace(path).map_err(|message| Error::Table { path: path.to_owned(), message })
}
