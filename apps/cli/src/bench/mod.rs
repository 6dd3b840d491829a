//! Running a workload on databases and measuring it: every answer is verified, and every configuration gets the same
//! operations in turns.

mod measure;
mod oracle;
mod schedule;
mod worker;

pub(crate) use measure::Measured;
pub(crate) use schedule::{Plan, Row, run};
