//! A key-value index on flash with about one byte of memory per key, for the chunk indexes of backup and deduplication programs. Source:
//! BloomStore (Lu, Nam, Du, MSST 2012). The entry point is [`FlashIndex`]. Structure, memory and byte layouts: `docs/index.md`.
//!
//! Invariants:
//! - Records acknowledged by [`FlashIndex::commit`] are found after any crash.
//! - A lookup never answers "absent" for a present key. Unreadable data is an error.
//! - Memory per key does not depend on the number of keys.
#![forbid(unsafe_code)]

mod block_file;
mod bucket;
mod checkpoint;
mod commits;
mod conditional;
mod copy;
mod entry;
mod filters;
mod flush;
mod halves;
mod lookup;
mod manifest;
mod open;
mod partitions;
mod pending;
mod pending_file;
mod prefilter;
mod prefilter_file;
mod rebuild;
mod reclaim;
mod record;
mod record_log;
mod repeats;
mod salvage;
mod scan;
mod settings;
mod stats;
mod store;
mod stream;
mod verify;
mod writer;
mod zones;

pub use manifest::{INDEX_MAGIC, INDEX_VERSION};
pub use reclaim::CompactReport;
pub use record::{INDEX_PAGE_BYTES, KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use salvage::SalvageReport;
pub use scan::{Pair, Scan};
pub use settings::{EXPECTED_KEYS_MAX, IndexMemory, IndexSettings};
pub use springbloom_page_device::{Access, FileStorage, FlashError, Watch};
pub use stats::{IndexInfo, IndexStats};
pub use store::FlashIndex;
pub use stream::StreamLookup;
pub use verify::IndexVerifyReport;

/// Runs the example of the README as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
