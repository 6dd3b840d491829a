//! Drives the manager's own policies over synthetic lookups in an LSM-shaped tree, without a store.
//!
//! - [`Tree`]: which tables and segments a lookup visits, and which absent keys pass which units;
//! - [`Lookups`]: what is looked up, from `springbloom-workload`;
//! - [`planned`]: a [`Planner`](springbloom_manager::Planner) alone, against the best allocation by foreknowledge;
//! - [`managed`]: a whole [`Manager`](springbloom_manager::Manager), whose budget pays for bookkeeping and known absences.

#![deny(unsafe_code)]

mod lookups;
pub mod managed;
pub mod planned;
mod tree;

pub use lookups::{Lookup, Lookups, Popularity};
pub use tree::{Tree, Visit};
