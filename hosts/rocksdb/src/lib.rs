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

mod elastic_filters;
mod ffi;
pub mod inspect;
pub mod listed_tables;
#[doc(hidden)]
pub mod testing;
pub mod usage;

pub use elastic_filters::{ElasticFilters, ElasticFiltersBuilder};
pub use ffi::FamilyStatus;
pub use springbloom_filter::UnitSettings;
pub use springbloom_host_core::{Budget, Error, FamilyStats, SETTINGS, Setting, Settings, metrics};
pub use springbloom_manager::{CurvePoint, LevelUnits, MeasuredUse, MemoryCurve, ScopeCounts, Stats};

/// The file next to a database's tables that remembers their use over a restart.
pub const HOTNESS_FILE_NAME: &str = "OPTIONS-0-SPRINGBLOOM-HOTNESS.dbtmp";

/// Compiles and runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExample;
