//! The budget in force, over time.

mod auto_budget;
pub(crate) mod budget_control;
mod charged_cache;
mod climber;
