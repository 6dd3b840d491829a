//! `springbloom compare`: one workload on one tree under many filters.
//!
//! - `arguments`: the flags; `settings`: those of experiments;
//! - `inputs`: records, operations and settings that follow from the flags;
//! - `recorded`: a trace as a workload;
//! - `comparison`: the steps;
//! - `database`: the databases that are compared, all of one tree;
//! - `ending`: what a signal does; `run`: loads and lookups, measured and verified;
//! - `report`: tables and JSON of what was measured.

#![deny(unsafe_code)]

mod arguments;
mod comparison;
mod database;
mod ending;
mod families;
mod inputs;
mod place;
mod recorded;
mod report;
mod run;
mod settings;

pub use arguments::Compare;
