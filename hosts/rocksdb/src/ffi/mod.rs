//! The border to C++ (`cpp/abi.h`), and the only unsafe code of this crate.
//!
//! `exports` is what C++ calls, `imports` what Rust calls. Every pointer's ownership stands in `cpp/abi.h`.

#![allow(unsafe_code)]

mod charge;
mod exports;
mod imports;
mod layout;
mod types;

pub(crate) use charge::{BlockCache, CacheCharge};
pub(crate) use imports::{
    FileAccess, digests_computed, inspect_table, install, is_another_installed, status,
};
pub(crate) use types::READER_BYTES;
