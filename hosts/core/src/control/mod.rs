//! What goes on beside lookups: the budget in force, maintenance, metrics.

pub(crate) mod budget_control;
mod charged_cache;
pub(crate) mod maintenance;
pub(crate) mod memory_pressure;
pub mod metrics;
