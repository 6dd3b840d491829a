//! The C interface (`include/springbloom_abi.h`): what an engine's adapter calls. Every pointer's ownership stands in the header.

#![allow(unsafe_code)]

mod exports;
#[cfg(test)]
mod layout;
mod shared;
mod table;
mod types;
