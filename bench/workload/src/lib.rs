//! Workloads for key-value stores: the operations, their order, and the right answers.
//!
//! - [`KeySpace`]: present keys, and absent keys *inside* their range, both by record number.
//! - [`Distribution`]: popularity of records (uniform, Zipf, latest, ranges). [`Movement`]: changes of the hot set while a workload runs.
//! - [`AbsentKeys`]: whether lookups repeat absent keys.
//! - [`Mix`]: the shares of operations, with the core workloads A-F of YCSB (Cooper et al., SoCC'10).
//! - [`OperationStream`]: the endless, deterministic sequence of [`Operation`]s of these settings and a seed.
//! - [`FamilyStream`]: operations on several families, which share traffic and absent keys. [`FamilySettings`]: as users give them.
//! - [`Set`]: settings of experiments, as `--set NAME=VALUE` gives them.
//! - [`Trace`]: the operations of a real program, as they were recorded.
//! - [`hash`]: pseudo-random numbers that are functions of a key's number.
//! - [`value`]: values derived from record and version, so that every answer of a store can be verified.
//!
//! The crate does not depend on a store. Two streams with the same settings and seeds are equal.

mod absent;
mod distribution;
mod error;
mod families;
mod family_settings;
pub mod hash;
mod keys;
mod mix;
mod movement;
mod permutation;
mod set;
mod stream;
pub mod trace;
pub mod value;

pub use absent::AbsentKeys;
pub use distribution::{Distribution, Sampler};
pub use error::WorkloadError;
pub use families::{FamilyMix, FamilyStream, Shares, Traffic};
pub use family_settings::FamilySettings;
pub use keys::{FileKeys, KeySpace, TraceKeys, edges};
pub use mix::Mix;
pub use movement::Movement;
pub use permutation::Permutation;
pub use set::Set;
pub use stream::{Operation, OperationStream, StreamSettings};
pub use trace::{Counts, Playback, Replay, Trace, TraceKind};
