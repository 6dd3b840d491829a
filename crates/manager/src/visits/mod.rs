//! How visits of lookups get to the policy.

mod counters;
mod outcome;
mod rings;
mod visit_buffer;

pub use counters::OutcomeTotals;
pub use outcome::{Outcome, Visit};
pub(crate) use visit_buffer::{SEGMENTS_MAX, TABLES_MAX, VisitBatch, VisitBuffer, VisitedTable};
