//! The machine and the build of a measurement.

use std::fs;

use serde::{Deserialize, Serialize};
use springbloom_console::proc::{field, memory_bytes};

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Processors that the program may use.
    pub cores: usize,
    /// Main memory.
    pub memory_bytes: u64,
    /// Release of Linux.
    pub kernel: String,
}

impl Machine {
    /// Reads `/proc`; what cannot be read is called unknown.
    pub fn this() -> Self {
        let unknown = || "unknown".to_owned();
        Machine {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            memory_bytes: memory_bytes().unwrap_or(0),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| unknown(), |text| text.trim().to_owned()),
        }
    }
}

/// The sources that a program was built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Release of Springbloom.
    pub version: String,
    /// Abbreviated commit.
    pub commit: String,
    /// Whether the sources differed from those of the commit.
    pub modified: bool,
}

impl Build {
    /// The sources of this program.
    pub fn this() -> Self {
        Build {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("SPRINGBLOOM_COMMIT").to_owned(),
            modified: env!("SPRINGBLOOM_MODIFIED") == "true",
        }
    }

    /// `1234abc`, or `1234abc-dirty` if the sources differed.
    pub fn commit_name(&self) -> String {
        format!("{}{}", self.commit, if self.modified { "-dirty" } else { "" })
    }
}
