//! A key-value index on flash with about a byte of memory per key (BloomStore: Lu, Nam, Du, MSST 2012), for the chunk
//! indexes of backup and deduplication programs. See [`FlashIndex`]. Structure, budget and byte layouts: `docs/flash-index.md`.
//!
//! Invariants: what [`FlashIndex::flush`] acknowledged is found again after any crash; a lookup never answers "absent" for a key
//! that is there: what cannot be read is an error; memory per key does not depend on how many there are.
#![forbid(unsafe_code)]

mod bucket;
mod clean;
mod closing;
mod commits;
mod entry;
mod filters;
mod halves;
mod kept_filters;
mod lookup;
mod manifest;
mod partitions;
mod pending;
mod prefilter;
mod rebuild;
mod record;
mod record_log;
mod repeats;
mod salvage;
mod scan;
mod settings;
mod stats;
mod store;
mod stream;
mod sweep;
mod verify;
mod waiting;
mod zones;

pub use clean::CompactReport;
pub use manifest::{INDEX_MAGIC, INDEX_VERSION};
pub use record::{INDEX_PAGE_BYTES, KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use salvage::SalvageReport;
pub use scan::Visitor;
pub use settings::{IndexMemory, IndexSettings};
pub use springbloom_page_device::FlashError;
pub use stats::{IndexInfo, IndexStats};
pub use store::FlashIndex;
pub use stream::StreamLookup;
pub use verify::IndexVerifyReport;

/// The example of the README runs as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
