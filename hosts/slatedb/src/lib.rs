//! Elastic filters for [SlateDB](slatedb), an LSM store on object storage: one memory budget holds the filter units that save the most
//! GETs.
//!
//! A table's filter block holds a small head alone (`head.rs`). Its units lie in an object of their own beside the tables
//! (`unit_objects.rs`), and are read in the background, as many as the budget has room for. SlateDB tells a filter neither its table nor
//! how a read ended; `absent_share.rs` estimates that. Invariants: a lookup waits for no filter I/O; what is absent, damaged or unknown
//! "may match"; budget and faults change cost, never answers.

#![warn(missing_docs, unreachable_pub)]
#![forbid(unsafe_code)]

mod absent_share;
mod elastic_filters;
mod head;
mod policy;
mod requests;
mod sweep;
mod table;
mod unit_objects;

pub use elastic_filters::{Builder, ElasticFilters, Requested};
pub use springbloom_manager::Stats;
pub use sweep::{SweepError, Swept, sweep};
