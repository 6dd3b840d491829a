//! Reports: a header that says where figures come from, then a table for people or JSON for programs.

pub(crate) mod advice;
mod comparison;
pub(crate) mod heat_map;
pub(crate) mod inspection;
mod median;
pub(crate) mod plot;

pub(crate) use comparison::{Header, write_json, write_table};
