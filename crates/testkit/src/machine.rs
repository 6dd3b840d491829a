//! Environment and settings of benchmarks.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A number from an environment variable.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// `SPRINGBLOOM_BENCH_DIR`, or `default` in the system's temporary folder.
pub fn directory(default: &str) -> PathBuf {
    let directory = std::env::var_os("SPRINGBLOOM_BENCH_DIR").map(PathBuf::from);
    directory.unwrap_or_else(|| std::env::temp_dir().join(default))
}

/// Processor, kernel and commit of this run.
pub fn description() -> String {
    let field = |path: &str, key: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let found = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
        found.split_once(':').map_or(found, |(_, value)| value).trim().to_owned()
    };
    let commit = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let commit = commit
        .map_or_else(|_| "unknown".to_owned(), |o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    format!(
        "cpu {}, {} cores, kernel {}, commit {commit}",
        field("/proc/cpuinfo", "model name"),
        std::thread::available_parallelism().map_or(1, usize::from),
        field("/proc/sys/kernel/osrelease", ""),
    )
}

/// An empty folder of this name in `directory`.
pub fn fresh(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a folder to measure in");
    path
}
