//! Workloads for key-value stores: what is asked, in what order, and what the right answer is.
//!
//! - [`KeySpace`]: present keys, and absent keys *inside* their range, both by record number;
//! - [`Distribution`]: which records are asked for (uniform, Zipf, latest, hotspot) and [`Movement`]: how the hot set
//!   moves while a workload runs;
//! - [`Mix`]: the shares of operations, with the core workloads A-F of YCSB (Cooper et al., SoCC'10);
//! - [`OperationStream`]: the endless, deterministic sequence of [`Operation`]s that follows from these and a seed;
//! - [`value`]: values that follow from record and version, so that every answer of a store can be verified.
//!
//! The crate knows no store. Everything is a function of seeds: two streams with the same settings are equal.

mod distribution;
mod error;
mod keys;
mod mix;
mod permutation;
mod stream;
pub mod value;

pub use distribution::{Distribution, Sampler};
pub use error::WorkloadError;
pub use keys::{FileKeys, KeySpace};
pub use mix::Mix;
pub use permutation::Permutation;
pub use stream::{Movement, Operation, OperationStream, StreamSettings};
