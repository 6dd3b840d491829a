//! LevelDB with filters that the benchmark has.

#![deny(unsafe_code)]

mod unsafe_store;

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use springbloom_host_core::Filters;
use springbloom_workload::value;

pub use unsafe_store::{Opening, Store, Table, copy, engine};

/// LevelDB's memtable by default.
pub const WRITE_BUFFER: u64 = 4 << 20;
/// Units that wait are loaded after this many operations, so that counts do not depend on how busy the machine is.
pub const OPERATIONS_BETWEEN_LOADS: u64 = 1_000;

/// Numbers from the environment, or their defaults.
pub fn numbers<const N: usize>(names: [&str; N], defaults: [u64; N]) -> Result<[u64; N]> {
    let mut numbers = defaults;
    for (name, number) in names.iter().zip(&mut numbers) {
        if let Ok(text) = env::var(name) {
            *number = text.parse().with_context(|| format!("{name}: expected a number, got {text}"))?;
        }
    }
    Ok(numbers)
}

/// A folder for databases, which goes when it is dropped: in that of the environment, if there is one.
pub fn folder() -> Result<tempfile::TempDir> {
    Ok(match env::var_os("SPRINGBLOOM_BENCH_DIR") {
        Some(folder) => tempfile::tempdir_in(folder),
        None => tempfile::tempdir(),
    }?)
}

/// Whether a lookup of a record found this version of it, or rightly nothing.
pub fn is_right(found: Option<&[u8]>, record: u64, version: Option<u32>, value_bytes: usize) -> bool {
    match (found, version) {
        (None, None) => true,
        (Some(found), Some(version)) => {
            value::origin(found) == Some((record, version)) && value::is_intact(found, value_bytes)
        }
        _ => false,
    }
}

/// Waits until no unit is waiting to be loaded: a minute that this process has, for others may stop it for longer.
pub fn settle(filters: &Filters) -> Result<()> {
    ensure!((0..60).any(|_| filters.wait_idle(Duration::from_secs(1))), "units are still waiting");
    Ok(())
}
