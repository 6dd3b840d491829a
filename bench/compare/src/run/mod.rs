//! Running a workload on databases and measuring it: every answer is verified, and every configuration gets the same
//! operations in turns.

mod load;
mod measure;
mod oracle;
mod schedule;
pub(crate) mod shamba;
mod worker;

pub(crate) use load::{LoadCost, LoadPlan, LoadRow, run as run_loads};
pub(crate) use schedule::{Entrant, Plan, Row, run};
