//! A table's block: header, directory, units.

mod directory;
mod finished;
mod header;
mod layout;
mod prefixes;
mod writer;

pub use directory::Directory;
pub use finished::FinishedBlock;
pub use header::{BlockHeader, Contents, FORMAT_VERSION, HEADER_BYTES, MAGIC};
pub use layout::UnitLayout;
pub use prefixes::{PrefixWriter, UNSORTED_BYTES_MAX};
pub use writer::{BlockWriter, MAX_SEGMENT_BYTES_PER_KEY, MAX_SEGMENT_KEYS};
