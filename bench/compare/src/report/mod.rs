//! Reports: a header with the settings and the machine, then a table or JSON.

pub(crate) mod comparison;
mod header;
pub(crate) mod loads;

pub(crate) use header::{Header, Loads, Lookups};
