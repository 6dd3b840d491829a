//! The subcommands, one file each.

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod dedup;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod set;
