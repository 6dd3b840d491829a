//! A block cache trace, as `DB::StartBlockCacheTrace` writes it: which blocks lookups asked for, and which were missing.

use std::path::Path;

use crate::{Error, ffi};

pub use ffi::{TracedBlocks, TracedFamily};

/// Reads a trace: its column families by name. The memory that it takes grows with the lookups in the trace.
pub fn read(path: &Path) -> Result<Vec<TracedFamily>, Error> {
    let mut families = Vec::new();
    let read = ffi::read_cache_trace(path, |family| {
        families.push(TracedFamily {
            name: String::from_utf8_lossy(family.family.get()).into_owned(),
            lookups: family.lookups,
            data: family.data,
            index: family.index,
            filters: family.filters,
        });
    });
    read.map_err(|message| Error::Table { path: path.to_owned(), message })?;
    Ok(families)
}
