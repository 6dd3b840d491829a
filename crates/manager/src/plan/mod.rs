//! Decides how many units of each segment are resident. Pure: no I/O, no lock, no thread, no clock; equal calls give equal decisions.

pub(crate) mod allocation;
mod counts;
mod forecast;
mod hotness;
pub(crate) mod index_choice;
pub(crate) mod inherit;
pub(crate) mod neighbours;
mod per_segment;
mod planner;
mod policy;
mod runs;
mod segment_state;
mod unit_curve;

pub use allocation::Allocation;
pub use hotness::Hotness;
pub use per_segment::PerSegment;
pub use planner::Planner;
pub use policy::{Benefit, Policy, VICTIMS_MAX};
pub use runs::{Run, ScopeCounts};
pub use segment_state::SegmentState;
pub use unit_curve::SegmentDemand;
pub(crate) use unit_curve::UnitCurve;
