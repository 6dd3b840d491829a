//! Whether a folder can hold what a comparison puts there, asked before minutes of loading.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::OFlags;
use springbloom_console::bad_input;
use springbloom_console::sizes::Size;

/// RocksDB would report a refusal as an unspecific I/O error of its first table.
pub(super) fn require_direct_io(dir: &Path) -> Result<()> {
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
            "the file system of {} refuses direct I/O: choose another --dir, or give --buffered to go through the page cache",
            dir.display()
        )),
        _ => bad_input(format!("cannot write to {}: {error}", dir.display())),
    })
}

/// Room for `data_bytes` in each of `copies` databases, and for what a compaction needs besides.
pub(super) fn require_space(dir: &Path, data_bytes: u64, copies: u64) -> Result<()> {
    const OVERHEAD: f64 = 1.15;
    let needed = (data_bytes * copies) as f64 * OVERHEAD;
    let disk =
        rustix::fs::statvfs(dir).with_context(|| format!("cannot ask for the space in {}", dir.display()))?;
    let free = disk.f_bavail as f64 * disk.f_frsize as f64;
    if free < needed {
        let [needed, free] = [needed, free].map(|bytes| Size { bytes: bytes as u64 });
        return Err(bad_input(format!(
            "{} has {free} free, this comparison needs about {needed}: choose another --dir, fewer --configs or fewer \
             --records",
            dir.display()
        )));
    }
    Ok(())
}
