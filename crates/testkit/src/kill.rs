//! Kills child processes. The test starts itself as a child, which works and prints what is acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Directory of the child. If it is set, the process is a child.
const CHILD_DIRECTORY: &str = "SPRINGBLOOM_KILL_CHILD";
const CHILD_FIRST_KEY: &str = "SPRINGBLOOM_KILL_FIRST_KEY";

/// Number of children to kill.
pub fn kills() -> u32 {
    std::env::var("SPRINGBLOOM_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// Directory and first key of a child. `None` in the test itself.
pub fn child() -> Option<(PathBuf, u64)> {
    let directory = std::env::var_os(CHILD_DIRECTORY)?;
    Some((directory.into(), std::env::var(CHILD_FIRST_KEY).unwrap().parse().unwrap()))
}

/// In the child: prints that everything up to `number` is acknowledged.
pub fn acknowledge(number: u64) {
    let mut out = std::io::stdout();
    writeln!(out, "acknowledged {number}").and_then(|()| out.flush()).unwrap();
}

/// Starts the test named `test` as a child, kills it after `life`, and returns the last number that it acknowledged.
pub fn kill_child(test: &str, directory: &Path, first_key: u64, life: Duration) -> Option<u64> {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(CHILD_DIRECTORY, directory)
        .env(CHILD_FIRST_KEY, first_key.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let numbers = lines.lines().map_while(Result::ok);
        numbers.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok()).last()
    });
    std::thread::sleep(life);
    process.kill().unwrap();
    process.wait().unwrap();
    reader.join().unwrap()
}
