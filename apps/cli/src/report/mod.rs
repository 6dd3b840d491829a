//! Reports: a header that says where figures come from, then a table for people or JSON for programs.

mod comparison;
pub(crate) mod inspection;
mod median;

pub(crate) use comparison::{Header, write_json, write_table};
