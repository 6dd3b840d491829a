//! Reports: a header with the settings and the machine, then a table with what it says in words, or JSON.

pub(crate) mod comparison;
mod header;
pub(crate) mod loads;
mod summary;

pub(crate) use header::{Header, Loads, Lookups};
