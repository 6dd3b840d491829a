//! The subcommands, one file each.

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod dedup;
pub(crate) mod index;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod set;
pub(crate) mod simulate;
pub(crate) mod top;
