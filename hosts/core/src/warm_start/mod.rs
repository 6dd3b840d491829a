//! Warm starts: what a hotness file remembers of the tables in its folder. Which tables there are now, others know.

pub(crate) mod folder;
pub mod hotness_file;
