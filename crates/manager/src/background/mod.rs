//! The manager's thread: learns from visits, keeps the plan within the budget, loads units.

mod arrivals;
mod cpu_budget;
mod joined_thread;
mod load_pause;
mod readers;
mod unsafe_yielding;
mod worker;

pub use joined_thread::JoinedThread;
pub(crate) use worker::Shared;
