//! What the device can do, by `fio` on the same file.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Random 4 KiB reads per second of `file` past the page cache, or `None` if `fio` is not installed.
pub(crate) fn random_reads_per_second(file: &Path, queue_depth: u32, time: Duration) -> Option<f64> {
    let engine = if queue_depth == 1 { "psync" } else { "io_uring" };
    let output = Command::new("fio")
        .args(["--name=reads", "--rw=randread", "--bs=4k", "--direct=1", "--time_based", "--readonly"])
        .args(["--output-format=json", "--randrepeat=0", "--norandommap"])
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--iodepth={queue_depth}"))
        .arg(format!("--runtime={}ms", time.as_millis()))
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // The first "iops" of the document is that of reads; no JSON parser is worth having for one number.
    let (_, after) = text.split_once("\"iops\" : ")?;
    after.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.parse().ok()
}
