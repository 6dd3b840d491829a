//! The budget in force, over time.

mod auto_budget;
pub(crate) mod budget_control;
pub(crate) mod charged_caches;
mod climber;
mod standing;
