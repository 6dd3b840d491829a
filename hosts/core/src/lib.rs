//! What hosts of elastic filters share, whatever their engine: which tables are open and where their units lie, the budget in force, warm
//! starts, settings, metrics, and the C interface for an engine's adapter (`include/springbloom_abi.h`).
//!
//! A host describes its [`Engine`], turns the engine's events into calls of the C interface, and offers its users a handle over
//! [`Filters`]. Nothing in here knows an engine. Invariants: a lookup takes no lock, allocates nothing and waits for no filter I/O in here;
//! what is absent, damaged or unknown "may match"; policy, budget and faults change cost, never answers.

#![deny(unsafe_code)]

mod budget;
mod engine;
mod error;
mod ffi;
mod identity;
mod instance;
mod settings;
mod tables;
mod warm_start;

pub use engine::{Bytes, CacheCalls, Engine, Name};
pub use error::Error;
pub use identity::stored_id;
pub use instance::{Filters, families::FamilyStats, metrics};
pub use settings::{
    Budget, Settings,
    table::{SETTINGS, Setting},
};
pub use warm_start::hotness_file::{self, from_stored};
