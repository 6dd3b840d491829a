//! How visits of lookups get to the policy.

mod batch;
mod counters;
mod outcome;
mod packed_visit;
mod rings;
mod visit_buffer;

pub(crate) use batch::VisitBatch;
pub use counters::OutcomeTotals;
pub use outcome::{Outcome, Visit};
pub(crate) use packed_visit::{SEGMENTS_MAX, TABLES_MAX, VisitedTable};
pub(crate) use visit_buffer::VisitBuffer;
