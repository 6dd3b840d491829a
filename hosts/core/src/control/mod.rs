//! What goes on beside lookups: the budget in force, maintenance, metrics.

pub(crate) mod budget_control;
mod charged_cache;
pub(crate) mod families;
pub(crate) mod maintenance;
pub mod metrics;
