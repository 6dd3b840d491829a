//! Tests that have the machine to themselves: they measure, or break what all databases of a process share.

#[path = "../common/mod.rs"]
mod common;

mod chaos;
mod many_stores;
mod outage;
mod prefix_costs;
mod shared_cache;
mod simulation;
mod soak;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod table_memory;
