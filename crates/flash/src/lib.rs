//! Springbloom's structures on flash.
//!
//! [`FlashFilter`] is a Bloom filter larger than memory (BloomFlash: Debnath, Sengupta, Li, Lilja, Du, ICDCS 2011): mutable,
//! durable, and read one page per lookup. The rest is what it stands on: a [`device`] layer for direct I/O with many
//! operations in flight, pages whose sectors carry checksums, and a log with group commit.
//!
//! Invariants: no key whose insertion was acknowledged is ever answered with "absent", whatever was interrupted or
//! damaged; what cannot be read answers "may match" and is counted. The layout on disk is `docs/flash-format.md`.
#![deny(unsafe_code)]

mod aligned;
pub mod device;
mod error;
mod filter;
mod flush_order;
pub mod fpr;
mod geometry;
mod header;
pub mod index;
mod journal;
mod mix;
mod page;
mod pending;
mod settings;
mod stats;

pub use aligned::{ALIGNMENT_BYTES, AlignedBuf};
pub use error::FlashError;
pub use filter::{FlashFilter, LayerReport, VerifyReport};
pub use geometry::{Geometry, Layout, PROBES_MAX};
pub use header::{FILTER_MAGIC, FILTER_VERSION, FilterHeader, HEADER_BYTES};
pub use settings::{
    BufferSettings, FilterSettings, FlushPolicy, GROUP_PAGES_MAX, MemorySize, PAGE_BYTES_MAX, PAGE_BYTES_MIN,
};
pub use stats::{FilterInfo, FilterStats, LayerInfo};
