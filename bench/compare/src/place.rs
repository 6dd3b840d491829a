//! The folder for databases: checks before minutes of loading, and what becomes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::OFlags;
use springbloom_console::bad_input;
use springbloom_console::sizes::Size;

use crate::ending::{Ending, before_a_signal_ends_us};

/// Removes the temporary folder when a signal ends the process.
pub(crate) fn remove_when_ended(dir: &Path) -> Result<Ending> {
    /// The databases are still written to meanwhile.
    const TRIES: u32 = 200;
    const PAUSE: Duration = Duration::from_millis(10);
    let dir = PathBuf::from(dir);
    before_a_signal_ends_us(move || {
        for _ in 0..TRIES {
            if fs::remove_dir_all(&dir).is_ok() || !dir.exists() {
                break;
            }
            thread::sleep(PAUSE);
        }
    })
}

/// RocksDB would report the refusal as an unspecific I/O error of its first table.
pub(crate) fn require_direct_io(dir: &Path) -> Result<()> {
    let probe = dir.join(".direct-io-probe");
    let write = || -> std::io::Result<()> {
        fs::write(&probe, [0; 4096])?;
        rustix::fs::open(&probe, OFlags::RDONLY | OFlags::DIRECT, rustix::fs::Mode::empty())?;
        Ok(())
    };
    let result = write();
    // Nothing depends on the probe going away, and its creation may be what failed.
    _ = fs::remove_file(&probe);
    result.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::INVAL.raw_os_error() => bad_input(format!(
            "the file system of {} refuses direct I/O: choose another --dir, or use --set buffered",
            dir.display()
        )),
        _ => bad_input(format!("cannot write to {}: {error}", dir.display())),
    })
}

/// Requires space for `copies` databases of `data_bytes` and for a compaction.
pub(crate) fn require_space(dir: &Path, data_bytes: u64, copies: u64) -> Result<()> {
    const OVERHEAD: f64 = 1.15;
    let needed = (data_bytes * copies) as f64 * OVERHEAD;
    let disk =
        rustix::fs::statvfs(dir).with_context(|| format!("cannot ask for the space in {}", dir.display()))?;
    let free = disk.f_bavail as f64 * disk.f_frsize as f64;
    if free < needed {
        let [needed, free] = [needed, free].map(|bytes| Size { bytes: bytes as u64 });
        return Err(bad_input(format!(
            "{} has {free} free, but about {needed} are needed: choose another --dir, fewer --configs or fewer --records",
            dir.display()
        )));
    }
    Ok(())
}
