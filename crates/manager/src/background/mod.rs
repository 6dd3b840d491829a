//! The manager's thread: learns from visits, keeps the plan within the budget, loads units.

mod worker;

pub(crate) use worker::Shared;
