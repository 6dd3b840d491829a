//! The subcommands that have no crate of their own, one file each.

pub(crate) mod advise;
pub(crate) mod explain;
pub(crate) mod inspect;
