//! `springflash set plan`: what a set would take, before it is made.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use springbloom_console::output;
use springbloom_console::sizes::{self, Size};
use springbloom_flash_filter::{FilterSettings, FlashFilter};

use super::open::MemoryOptions;
use crate::flash::explain;

/// Keys added per second in batches (commit 2202ba0), and looked up (commit 6e843b1).
const KEYS_PER_SECOND: f64 = 773_900.0;
const LOOKUPS_PER_SECOND: f64 = 62_200.0;

/// Say what a set would take: disk, memory and time. Makes nothing
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// Distinct keys that the set should hold, such as 1000000, 1e9, 2.5M or 1G (multiples of 1,000)
    #[arg(long, value_name = "KEYS", value_parser = sizes::count)]
    keys: u64,
    /// False positive rate of the full set
    #[arg(long, value_name = "RATE", default_value_t = 0.01)]
    fpr: f64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Plan {
    pub(super) fn run(&self) -> Result<()> {
        let settings = FilterSettings::new(self.keys, self.fpr);
        let disk_bytes = FlashFilter::disk_bytes(&settings, self.memory.settings()?).map_err(explain)?;
        let (add_seconds, check_seconds) =
            (self.keys as f64 / KEYS_PER_SECOND, self.keys as f64 / LOOKUPS_PER_SECOND);
        if self.json {
            return output::json(&json!({
                "keys": self.keys,
                "fpr": self.fpr,
                "disk_bytes": disk_bytes,
                "memory_bytes": self.memory.bytes(),
                "add_seconds": add_seconds,
                "check_seconds": check_seconds,
            }));
        }
        let (disk, memory) = (Size { bytes: disk_bytes }, Size { bytes: self.memory.bytes() });
        let bits = 8.0 * disk_bytes as f64 / self.keys as f64;
        output::report(|out| {
            Ok(writeln!(
                out,
                "disk: {disk}, {bits:.1} bits per key\n\
                     memory: {memory} while it is open (--memory)\n\
                     adding all keys: about {add_seconds:.0} seconds; checking as many: about {check_seconds:.0} seconds\n\
                     The seconds follow from rates measured with ten million keys on one machine with two cores and an SSD. More keys \
                     for the same memory take longer."
            )?)
        })
    }
}
