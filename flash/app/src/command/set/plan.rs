//! `springflash set plan`: what a set would take, before it is made.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use springbloom_console::output;
use springbloom_console::sizes::{self, Size};
use springbloom_flash_filter::{BufferSettings, Costs, FilterSettings, FlashFilter, MemorySize};

use super::open::MemoryOptions;
use crate::flash::explain;

/// Keys added per second in batches (commit 2202ba0), and looked up (commit 6e843b1).
const KEYS_PER_SECOND: f64 = 773_900.0;
/// Supposed of the disk: bytes that flushes write while they read as many. So 2e9 keys in 16 MiB are added at a ninth of the rate above; a
/// sixth to a tenth was seen (commit aa83ce97).
const BYTES_PER_SECOND: f64 = 150e6;
const LOOKUPS_PER_SECOND: f64 = 62_200.0;

/// Say what a set would take, with --memory and with more: disk, time and bytes written. Makes nothing
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
        let (settings, given) = (FilterSettings::new(self.keys, self.fpr), self.memory.settings()?);
        let keys = self.keys as f64;
        let costs = |memory: Size| -> Result<(Costs, f64)> {
            let buffer = BufferSettings { memory: MemorySize::Bytes(memory.bytes), ..given };
            let costs = FlashFilter::costs(&settings, buffer).map_err(explain)?;
            Ok((costs, keys / KEYS_PER_SECOND + costs.written_bytes as f64 / BYTES_PER_SECOND))
        };
        let (memory, check_seconds) = (self.memory.memory, keys / LOOKUPS_PER_SECOND);
        if self.json {
            let (costs, add_seconds) = costs(memory)?;
            return output::json(&json!({
                "keys": self.keys,
                "fpr": self.fpr,
                "disk_bytes": costs.filter_bytes + costs.log_bytes,
                "log_bytes": costs.log_bytes,
                "memory_bytes": memory.bytes,
                "written_bytes": costs.written_bytes,
                "add_seconds": add_seconds,
                "check_seconds": check_seconds,
            }));
        }
        output::report(|out| {
            for times in [1, 4, 16] {
                let memory = Size { bytes: memory.bytes.saturating_mul(times) };
                let (costs, seconds) = costs(memory)?;
                let [disk, log, written] =
                    [costs.filter_bytes + costs.log_bytes, costs.log_bytes, costs.written_bytes]
                        .map(|bytes| Size { bytes });
                writeln!(
                    out,
                    "With {memory} of memory: {disk} of disk, {log} of it for the log; adding all keys takes {seconds:.0} seconds, \
                     {:.0} keys per second, and writes {written}",
                    keys / seconds
                )?;
            }
            Ok(writeln!(
                out,
                "A log never becomes shorter. Checking as many takes {check_seconds:.0} seconds. Times are about those of one machine with \
                     two cores and an SSD that reads 150 MB/s and writes as much meanwhile."
            )?)
        })
    }
}
