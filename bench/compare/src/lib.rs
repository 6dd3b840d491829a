//! `springbloom compare`: one workload on one tree under many filters.
//!
//! - `arguments`: the flags, and what follows from them;
//! - `database`: the databases that are compared, all of one tree;
//! - `run`: loads and lookups, measured and verified;
//! - `report`: tables, JSON and pictures of what was measured.

#![deny(unsafe_code)]

mod arguments;
mod database;
mod machine;
mod report;
mod run;
mod spread;

pub use arguments::Compare;
