//! What goes on beside lookups: the budget in force, maintenance, metrics.

mod auto_budget;
pub(crate) mod budget_control;
mod charged_cache;
mod climber;
pub(crate) mod families;
pub(crate) mod maintenance;
pub mod metrics;
