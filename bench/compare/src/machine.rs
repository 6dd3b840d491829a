//! The machine and the build a measurement was made on, for the header of every report.

use std::fs;

use serde::Serialize;
use springbloom_console::proc::{field, memory_bytes};

/// What decides how fast a run is, apart from its settings.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    /// Commit the program was built from.
    pub(crate) commit: &'static str,
    pub(crate) version: &'static str,
    pub(crate) rocksdb: &'static str,
}

/// The RocksDB that is linked in; its bindings are pinned to it.
pub(crate) const ROCKSDB_VERSION: &str = "11.8.1";

impl Machine {
    /// Reads `/proc`; what cannot be read is called unknown.
    pub(crate) fn this() -> Self {
        let unknown = || "unknown".to_owned();
        Machine {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            memory_bytes: memory_bytes().unwrap_or(0),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().to_owned()),
            commit: env!("SPRINGBLOOM_COMMIT"),
            version: env!("CARGO_PKG_VERSION"),
            rocksdb: ROCKSDB_VERSION,
        }
    }
}
