//! Elastic filters for [SlateDB](slatedb), an LSM store on object storage: one memory budget holds the filter units that save the most
//! GETs.
//!
//! A table's filter block holds only a small head (`head.rs`). Its units are an object of their own next to the tables (`unit_objects.rs`),
//! and are read in the background, within the budget. SlateDB tells a filter neither its table (`known_tables.rs` sees which ones lookups
//! still ask) nor how a read ended: [`ElasticFilters::get`] does (`reads.rs`), and otherwise `absent_share.rs` estimates it. What policies
//! of one database share (`database.rs`) ends with the last of them. Invariants: a lookup waits for no filter I/O; what is absent, damaged
//! or unknown "may match"; budget and faults change cost, never answers.

#![warn(missing_docs, unreachable_pub)]
#![forbid(unsafe_code)]

mod absent_share;
mod database;
mod elastic_filters;
mod filters;
mod head;
mod known_tables;
mod policy;
mod range;
mod reads;
mod requests;
mod sweep;
mod table;
mod traffic;
mod unit_objects;

pub use elastic_filters::{Builder, ElasticFilters};
pub use springbloom_manager::Stats;
pub use sweep::{SweepError, Swept, sweep};
pub use traffic::Requested;

/// Its program is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
