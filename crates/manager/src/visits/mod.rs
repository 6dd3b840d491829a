//! How visits of lookups get to the policy.

mod batch;
mod counters;
mod outcome;
mod packed_visit;
mod thread_visits;
mod visit_buffer;

pub(crate) use batch::VisitBatch;
pub use counters::OutcomeTotals;
pub use outcome::{Outcome, Visit};
pub(crate) use packed_visit::{PackedVisit, VisitedTable};
pub use packed_visit::{SEGMENTS_MAX, TABLES_MAX};
pub use thread_visits::set_host_bytes_of_thread;
pub(crate) use visit_buffer::{VisitBuffer, pool_bytes};
