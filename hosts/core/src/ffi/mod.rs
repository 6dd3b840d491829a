//! The C interface (`include/springbloom_abi.h`), and the only unsafe code of this crate.
//!
//! `exports` is what an engine's adapter calls; `engine`, `cache`, `file_access` and `spill_file` call what the adapter gave. Every
//! pointer's ownership stands in the header.

#![allow(unsafe_code)]

mod cache;
mod engine;
mod exports;
mod file_access;
mod layout;
mod spill_file;
mod types;

pub use cache::{Cache, CacheCalls};
pub use engine::{Engine, Name};
pub use types::Bytes;
pub(crate) use {
    cache::{CacheAlarm, CacheCharge},
    file_access::{FileAccess, LogLevel},
    spill_file::{MappedFile, SpillFile, SpillFiles},
};
