//! A unit's way from disk to memory.

mod job;

pub(crate) use job::{Job, NextJob};
