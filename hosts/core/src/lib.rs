//! What hosts of elastic filters share, whatever their engine: which tables are open and where their units lie, the budget in force, warm
//! starts, settings, metrics, and the C interface for an engine's adapter (`include/springbloom_abi.h`).
//!
//! A host describes its [`Engine`], turns the engine's events into calls of the C interface, and offers its users a handle over
//! [`Filters`]. Nothing in here knows an engine. Invariants: a lookup takes no lock, allocates nothing and waits for no filter I/O in here;
//! what is absent, damaged or unknown "may match"; policy, budget and faults change cost, never answers.

#![deny(unsafe_code)]

mod control;
mod error;
mod ffi;
mod filters;
mod table_name;
mod tables;
#[cfg(test)]
mod test_engine;
mod warm_start;

pub use control::{memory_pressure::MemoryPressure, metrics};
pub use error::Error;
pub use ffi::{Bytes, Cache, CacheCalls, Engine, Name};
pub use filters::{
    Filters,
    families::FamilyStats,
    setting_table::{SETTINGS, Setting},
    settings::Settings,
};
pub use warm_start::{
    from_stored,
    hotness_file::{self, Unusable},
    stored_id,
};
