//! Runs a workload on databases and measures it. Every answer is verified, and all configurations get the same operations
//! in turns.

mod load;
mod measure;
mod oracle;
mod schedule;
mod tables_per_get;
mod times;
mod worker;
mod workload;

pub(crate) use load::{LoadPlan, LoadRow, run as run_loads};
pub(crate) use schedule::{Entrant, Plan, Row, labels_of, run};
pub(crate) use tables_per_get::tables_per_get;
pub(crate) use workload::Workload;
