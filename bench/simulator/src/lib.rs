//! Runs the manager's own policies over synthetic lookups in an LSM-shaped tree, without a store.
//!
//! - [`Tree`]: the tables and segments that a lookup visits, and the absent keys that pass each unit.
//! - [`Lookups`]: the keys looked up, from `springbloom-workload`.
//! - [`Rewriting`]: compaction, which rewrites tables while lookups run.
//! - [`optimum()`]: the best fixed units for lookups that are known.
//! - [`managed`]: a whole [`Manager`](springbloom_manager::Manager), whose budget pays for bookkeeping.
//! - [`written`]: stock filters, whose bits are chosen when a table is written.
//! - [`command`]: `springbloom simulate`, which runs all of these on trees of any size.
//! - [`map`]: `springbloom map`, a model of all memory: block cache, indexes and filters.

#![deny(unsafe_code)]

pub mod command;
mod family_run;
mod lookups;
pub mod managed;
pub mod map;
mod optimum;
mod rewriting;
mod tree;
pub mod written;

pub use family_run::FamilyRun;
pub use lookups::{Lookup, Lookups};
pub use optimum::optimum;
pub use rewriting::Rewriting;
pub use tree::{Tree, Visit};
