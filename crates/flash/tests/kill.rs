//! Real processes killed at random moments: the test starts itself as a child that inserts and says what is acknowledged.
//!
//! `SPRINGBLOOM_KILLS` sets how many children are killed (default 20).

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::keys;
use rand::RngExt;
use springbloom_flash::{BufferSettings, FilterSettings, FlashFilter};
use springbloom_testkit::seed;

/// Directory for the child; its presence makes the test below the child.
const CHILD_DIRECTORY: &str = "SPRINGBLOOM_KILL_CHILD";
const CHILD_FIRST_KEY: &str = "SPRINGBLOOM_KILL_FIRST_KEY";

fn buffer() -> BufferSettings {
    BufferSettings { group_pages: 4, ..BufferSettings::with_memory_bytes(96 << 10) }
}

/// Inserts until it is killed, printing how many keys are acknowledged.
fn child(directory: &Path, first_key: u64) {
    let filter = match FlashFilter::open(directory, buffer()) {
        Ok(filter) => filter,
        Err(_) => FlashFilter::create(directory, &FilterSettings::new(500_000, 0.01), buffer()).unwrap(),
    };
    let mut out = std::io::stdout();
    for first in (first_key..).step_by(300) {
        filter.insert_many(&keys(1, first..first + 300)).unwrap();
        if first % 7 == 0 { filter.flush() } else { filter.commit() }.unwrap();
        writeln!(out, "acknowledged {}", first + 300).and_then(|()| out.flush()).unwrap();
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    if let Ok(directory) = std::env::var(CHILD_DIRECTORY) {
        let first_key = std::env::var(CHILD_FIRST_KEY).unwrap().parse().unwrap();
        return child(Path::new(&directory), first_key);
    }
    let kills: u32 = std::env::var("SPRINGBLOOM_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let mut rng = seed::rng("nothing_acknowledged_is_lost_when_the_process_is_killed");
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    for kill in 0..kills {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "nothing_acknowledged_is_lost_when_the_process_is_killed", "--nocapture"])
            .env(CHILD_DIRECTORY, directory.path())
            .env(CHILD_FIRST_KEY, acknowledged.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        let reader = std::thread::spawn(move || {
            let numbers = lines.lines().map_while(Result::ok);
            numbers.filter_map(|line| line.strip_prefix("acknowledged ")?.parse::<u64>().ok()).last()
        });
        std::thread::sleep(Duration::from_millis(rng.random_range(20..250)));
        process.kill().unwrap();
        process.wait().unwrap();
        acknowledged = reader.join().unwrap().unwrap_or(acknowledged);
        let Ok(filter) = FlashFilter::open(directory.path(), buffer()) else {
            assert_eq!(acknowledged, 0, "kill {kill}: a filter with acknowledged keys does not open");
            continue;
        };
        let lost = filter.contains_many(&keys(1, 0..acknowledged)).iter().filter(|found| !**found).count();
        assert_eq!(lost, 0, "kill {kill}: of {acknowledged} keys");
    }
    assert!(acknowledged > 300 * u64::from(kills) / 4, "children were killed before they did anything");
    let filter = FlashFilter::open(directory.path(), buffer()).unwrap();
    assert!(filter.verify(&mut |_, _| ()).is_sound());
}
