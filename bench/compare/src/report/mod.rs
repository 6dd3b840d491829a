//! Reports: a header that says where figures come from, then a table for people or JSON for programs.

pub(crate) mod comparison;
mod distinct;
mod header;
pub(crate) mod loads;
pub(crate) mod shamba;
pub(crate) mod shamba_plot;

pub(crate) use header::{Header, Loads, Lookups};
