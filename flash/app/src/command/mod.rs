//! The subcommands, one file each.

pub(crate) mod copy;
pub(crate) mod index;
pub(crate) mod set;
