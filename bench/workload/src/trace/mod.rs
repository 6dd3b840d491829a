//! Recorded workloads: the operations of a real program, in their order.
//!
//! - [`Trace`]: operations and keys as they were read from a file, in one of two forms:
//!   - `text`: an operation and a key a line;
//!   - `query` and `write_batch`: RocksDB's query trace, as `DB::StartTrace` writes it.
//! - [`Replay`]: a trace cut in two. The first part decides which keys a store holds, the second is the workload.

mod bytes;
mod file;
mod operations;
pub mod query;
mod replay;
pub mod text;
mod write_batch;

use std::path::Path;

use crate::error::WorkloadError;

pub use operations::{BadTrace, LeftOut, Trace, TraceBuilder, TraceKind, TraceOperation};
pub use replay::{Counts, Playback, Replay};

impl Trace {
    /// Reads the trace at `path`, of a form that its contents tell, whole or compressed by gzip; `keys` is a file of the keys that were
    /// there before, one a line, as in the text form.
    pub fn read(path: &Path, keys: Option<&Path>) -> Result<Self, WorkloadError> {
        file::read(path, keys)
    }
}
