//! The subcommands, one file each.

pub(crate) mod advise;
pub(crate) mod compare;
pub(crate) mod inspect;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod simulate;
pub(crate) mod top;
