//! Elastic filters in RocksDB: one byte budget for the filters of a process, spent where lookups need it.
//!
//! ```
//! use springbloom_rocksdb::ElasticFilters;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path();
//! let elastic = ElasticFilters::builder().budget_bytes(8 << 20).build()?;
//! let mut options = rocksdb::Options::default();
//! options.create_if_missing(true);
//! elastic.install(&mut options)?;
//! let db = rocksdb::DB::open(&options, path)?;
//! db.put(b"key", b"value")?;
//! db.flush()?;
//! assert_eq!(db.get(b"key")?.as_deref(), Some(&b"value"[..]));
//! assert_eq!(db.get(b"kez")?, None);
//! # Ok(())
//! # }
//! ```
//!
//! Tables written this way are standard tables: stock RocksDB opens, verifies and compacts them. Invariants: a lookup takes
//! no lock, allocates nothing and waits for no filter I/O in here; what is absent, damaged or unknown "may match"; policy,
//! budget and faults change cost, never answers.

#![deny(unsafe_code)]

mod control;
mod elastic_filters;
mod error;
mod ffi;
pub mod inspect;
mod mutex;
mod tables;
#[doc(hidden)]
pub mod testing;
pub mod usage;
mod warm_start;

pub use control::{memory_pressure::MemoryPressure, metrics};
pub use elastic_filters::settings::{SETTINGS, Setting};
pub use elastic_filters::{ElasticFilters, ElasticFiltersBuilder, FamilyStatus};
pub use error::Error;
pub use springbloom_filter::UnitSettings;
pub use springbloom_manager::{CurvePoint, MemoryCurve, PolicyKind, Stats};
pub use warm_start::hotness_file::FILE_NAME as HOTNESS_FILE_NAME;

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExample;
