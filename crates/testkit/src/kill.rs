//! Children of a test that are killed: the test starts itself as a child, which works and says what is acknowledged.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Directory for the child; its presence makes the test the child.
const CHILD_DIRECTORY: &str = "SPRINGBLOOM_KILL_CHILD";
const CHILD_FIRST_KEY: &str = "SPRINGBLOOM_KILL_FIRST_KEY";

/// How many children are to be killed.
pub fn kills() -> u32 {
    std::env::var("SPRINGBLOOM_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// Where a child works and with which key it begins; `None` in the test itself.
pub fn child() -> Option<(PathBuf, u64)> {
    let directory = std::env::var_os(CHILD_DIRECTORY)?;
    Some((directory.into(), std::env::var(CHILD_FIRST_KEY).unwrap().parse().unwrap()))
}

/// In the child: says that everything up to `number` is acknowledged.
pub fn acknowledge(number: u64) {
    let mut out = std::io::stdout();
    writeln!(out, "acknowledged {number}").and_then(|()| out.flush()).unwrap();
}

/// Starts the test named `test` as a child, kills it after `life`, and gives what it acknowledged last.
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
