//! Elastic filters with the rest of RocksDB: everything that works with stock tables works with ours.

#[path = "../common/mod.rs"]
mod common;

mod activity;
mod auto_budget;
mod budget;
mod column_families;
mod comparators;
mod copies;
mod coroutines;
mod corruption;
mod counters;
mod cpp;
mod digests;
#[cfg(target_os = "linux")]
mod fork;
mod golden;
mod hanging_calls;
mod held_reads;
mod indexes;
mod ingestion;
mod inheritance;
mod memory_curve;
mod memory_only;
mod moves;
mod options;
mod other_readers;
mod prefix_oracle;
mod prefixes;
mod residency;
mod resident_index_oracle;
mod small_index;
mod switching;
#[cfg(not(crate_without_timestamps))]
mod timestamps;
mod transactions;
mod values;
mod warm_restart;
