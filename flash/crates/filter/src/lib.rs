//! A Bloom filter on flash that is larger than memory: mutable and durable, with one page read per lookup. Source: BloomFlash (Debnath,
//! Sengupta, Li, Lilja, Du, ICDCS 2011). The entry point is [`FlashFilter`]. Layout on disk: `docs/filter-format.md`.
//!
//! Invariants: a lookup never answers "absent" for a key whose insertion was acknowledged, after any interruption or damage. Unreadable
//! data answers "may match" and is counted.
#![forbid(unsafe_code)]

mod capacity;
mod copy;
mod filter;
mod flush;
mod flush_order;
pub mod fpr;
mod geometry;
mod header;
mod insert_new;
mod layer;
mod lookup;
mod memory;
mod merge;
mod open;
mod page;
mod page_cache;
mod pages;
mod pending;
mod repair;
mod settings;
mod stamp;
mod state;
mod stats;
mod verify;
mod write;
mod writer;

pub use filter::FlashFilter;
pub use geometry::{Geometry, Layout, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PROBES_MAX};
pub use header::{FILTER_MAGIC, FILTER_VERSION, FilterHeader, HEADER_BYTES};
pub use repair::SalvageReport;
pub use settings::{BufferSettings, FilterSettings, FlushPolicy, GROUP_PAGES_MAX, MemorySize};
pub use springbloom_page_device::{Access, FileStorage, FlashError, FolderLock, Watch};
pub use stats::{Costs, FilterInfo, FilterStats, LayerInfo};
pub use verify::{LayerReport, VerifyReport};
pub use writer::WhenFull;

/// Runs the example of the README as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
