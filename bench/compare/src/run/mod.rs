//! Runs a workload on databases and measures it. Every answer is verified, and all configurations get the same operations
//! in turns.

mod load;
mod measure;
mod oracle;
mod schedule;
pub(crate) mod shamba;
mod tables_per_get;
mod windows;
mod worker;
mod workload;

pub(crate) use load::{LoadCost, LoadPlan, LoadRow, run as run_loads};
pub(crate) use schedule::{Entrant, Latency, Plan, Row, run};
pub(crate) use tables_per_get::tables_per_get;
pub(crate) use windows::Window;
pub(crate) use workload::Workload;
