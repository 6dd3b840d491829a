//! A killed scan resumes where it stopped, and reports the same as an uninterrupted one.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Chunks of 256 bytes: a batch of a thousand is a quarter of a megabyte.
fn scan(index: &Path, files: &[&Path]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_springflash"))
        .args([
            "dedup",
            "scan",
            "--json",
            "--chunk-size",
            "256B",
            "--threads",
            "2",
            "--same-stream",
            "--index",
        ])
        .arg(index)
        .args(files)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn noise(seed: u64, len: usize) -> Vec<u8> {
    let word = |n: u64| (seed << 40 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    (0..len as u64 / 8).flat_map(|n| word(n).to_le_bytes()).collect()
}

/// The report and the messages of a scan that is left alone.
fn finished(mut scan: Child, stream: &[u8]) -> (Value, String) {
    scan.stdin.take().unwrap().write_all(stream).unwrap();
    let output = scan.wait_with_output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{messages}");
    (serde_json::from_slice(&output.stdout).unwrap(), messages)
}

#[test]
fn a_killed_scan_goes_on_and_reports_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let files = [dir.path().join("one.bin"), dir.path().join("two.bin")];
    std::fs::write(&files[0], noise(1, 700_000)).unwrap();
    // The second half of it repeats the first file.
    let two: Vec<u8> = [noise(2, 500_000), noise(1, 700_000)].concat();
    std::fs::write(&files[1], two).unwrap();
    let files: Vec<&Path> = files.iter().map(|file| file.as_path()).collect();
    // So does the end of the stream with its own beginning, which an interrupted scan has seen.
    let stream = [noise(3, 4_000_000), noise(2, 300_000), noise(3, 2_000_000)].concat();

    let whole = dir.path().join("whole");
    let (expected, _) = finished(scan(&whole, &files), &stream);

    let index = dir.path().join("index");
    for kill in 0..2 {
        let mut killed = scan(&index, &files);
        let mut input = killed.stdin.take().unwrap();
        let start = Instant::now();
        // Slowly, so that the scan has written how far it is, at another place each time.
        for piece in stream.chunks(300_000) {
            input.write_all(piece).unwrap();
            std::thread::sleep(Duration::from_millis(200));
            if start.elapsed() > Duration::from_millis(3300 + 400 * kill) {
                break;
            }
        }
        killed.kill().unwrap();
        let output = killed.wait_with_output().unwrap();
        assert!(!output.status.success());
        let goes_on = String::from_utf8_lossy(&output.stderr).contains("2 of 3 files are done");
        assert_eq!(goes_on, kill > 0);
    }
    let (report, messages) = finished(scan(&index, &files), &stream);
    assert!(messages.contains("resuming the interrupted scan: 2 of 3 files"), "{messages}");
    for field in ["files", "total", "by_type"] {
        assert_eq!(report[field], expected[field], "{field}");
    }
}
