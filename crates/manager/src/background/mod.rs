//! The manager's thread: learns from visits, keeps the plan within the budget, loads units.

mod arrivals;
mod cpu_budget;
mod load_pause;
mod read_time;
mod worker;

pub(crate) use worker::Shared;
