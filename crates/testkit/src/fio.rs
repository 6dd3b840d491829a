//! Speed of the device, measured by `fio` on the same files.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Random 4 KiB reads per second from `files` in equal parts, with direct I/O. `None` if `fio` is not installed.
pub fn random_reads_per_second(files: &[PathBuf], queue_depth: u32, time: Duration) -> Option<f64> {
    let engine = if queue_depth == 1 { "psync" } else { "io_uring" };
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let output = Command::new("fio")
        .args(["--name=reads", "--rw=randread", "--bs=4k", "--direct=1", "--time_based", "--readonly"])
        .args(["--output-format=json", "--randrepeat=0", "--norandommap"])
        .arg(format!("--filename={}", names.join(":")))
        .arg(format!("--ioengine={engine}"))
        .arg(format!("--iodepth={queue_depth}"))
        .arg(format!("--runtime={}ms", time.as_millis()))
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // The first "iops" of the document is that of reads. One number does not justify a JSON parser.
    let (_, after) = text.split_once("\"iops\" : ")?;
    after.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?.parse().ok()
}
