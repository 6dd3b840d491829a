//! The subcommands, one file each.

pub(crate) mod index;
pub(crate) mod set;
