//! The manager's threads: one learns from visits and keeps the plan within the budget, others read units.

mod cpu_budget;
mod joined_thread;
mod load_pause;
mod opening_burst;
mod readers;
mod unsafe_yielding;
mod worker;

pub use joined_thread::JoinedThread;
pub(crate) use worker::Shared;
