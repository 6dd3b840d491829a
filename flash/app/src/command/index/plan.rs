//! `springflash index plan`: what an index would take, before it is made.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use springbloom_console::sizes::{self, Size};
use springbloom_console::{bad_input, output};
use springbloom_flash_index::{INDEX_PAGE_BYTES, IndexSettings};

/// As measured (docs/index.md): memory and rates.
const MEMORY_BYTES_PER_KEY: f64 = 0.75;
const PUTS_PER_SECOND: f64 = 112_000.0;
const GETS_PER_SECOND: f64 = 11_200.0;
/// On disk, in addition to the pair: 9 in buckets, as measured with a million keys (commit 9f510c9c), and heads of records and pages.
const DISK_BYTES_PER_KEY: u64 = 12;
/// Of an index without keys.
const EMPTY_BYTES: f64 = (480 << 10) as f64;

/// Say what an index would take: disk, memory and time. Makes nothing
#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// Number of keys, such as 1000000, 1e9 or 2.5M
    #[arg(long, value_name = "KEYS", value_parser = sizes::whole_within::<u64>(1..=u64::MAX))]
    keys: u64,
    /// Bytes of a key and its value
    #[arg(long, value_name = "SIZE", default_value = "64")]
    pair: Size,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Plan {
    pub(super) fn run(&self) -> Result<()> {
        let keys = self.keys as f64;
        // The log grows by whole zones.
        let zone_bytes = u128::from(IndexSettings::new(self.keys).zone_pages) * INDEX_PAGE_BYTES as u128;
        let pairs_bytes = u128::from(self.keys) * u128::from(self.pair.bytes + DISK_BYTES_PER_KEY);
        let disk_bytes = pairs_bytes.next_multiple_of(zone_bytes);
        let disk_bytes = u64::try_from(disk_bytes).map_err(|_| {
            bad_input(format!(
                "--keys and --pair take {disk_bytes} bytes of disk, expected less than 2^64 bytes"
            ))
        })?;
        let memory_bytes = (EMPTY_BYTES + keys * MEMORY_BYTES_PER_KEY) as u64;
        let (put_seconds, get_seconds) = (keys / PUTS_PER_SECOND, keys / GETS_PER_SECOND);
        if self.json {
            return output::json(&json!({
                "keys": self.keys,
                "disk_bytes": disk_bytes,
                "memory_bytes": memory_bytes,
                "put_seconds": put_seconds,
                "get_seconds": get_seconds,
            }));
        }
        let (disk, memory) = (Size { bytes: disk_bytes }, Size { bytes: memory_bytes });
        output::report(|out| {
            Ok(writeln!(
                out,
                "disk: about {disk}, without what was replaced or deleted\n\
                 memory: about {memory} while it is open\n\
                 putting all keys: about {put_seconds:.0} seconds; getting as many: about {get_seconds:.0} seconds\n\
                 All are computed from what was measured on one busy machine with two cores and an SSD."
            )?)
        })
    }
}
