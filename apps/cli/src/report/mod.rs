//! Reports: a header that says where figures come from, then a table for people or JSON for programs.

pub(crate) mod advice;
pub(crate) mod comparison;
mod distinct;
mod header;
pub(crate) mod heat_map;
pub(crate) mod inspection;
pub(crate) mod loads;
mod median;
pub(crate) mod plot;
pub(crate) mod shamba;
pub(crate) mod shamba_plot;
mod text_table;

pub(crate) use header::{Header, Loads, Lookups};
pub(crate) use median::Spread;
pub(crate) use text_table::TextTable;
