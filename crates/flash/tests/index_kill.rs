//! Real processes killed at random moments: the test starts itself as a child that puts and says what is acknowledged.
//!
//! `SPRINGBLOOM_KILLS` sets how many children are killed (default 20).

mod index_support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use index_support::{key, small, value};
use rand::RngExt;
use springbloom_flash::index::FlashIndex;
use springbloom_testkit::seed;

/// Directory for the child; its presence makes the test below the child.
const CHILD_DIRECTORY: &str = "SPRINGBLOOM_INDEX_KILL_CHILD";
const CHILD_FIRST_KEY: &str = "SPRINGBLOOM_INDEX_KILL_FIRST_KEY";

/// Puts until it is killed, printing how many keys are acknowledged.
fn child(directory: &Path, first_key: u64) {
    let index = FlashIndex::open(directory, small().1).unwrap();
    let mut out = std::io::stdout();
    for n in first_key.. {
        index.put(&key(n), &value(n, 1, 40)).unwrap();
        if n >= 1000 && n % 10 == 0 {
            index.delete(&key(n - 1000)).unwrap();
        }
        if n % 300 == 0 {
            index.flush().unwrap();
            writeln!(out, "acknowledged {n}").and_then(|()| out.flush()).unwrap();
        }
        if n % 5000 == 0 {
            index.compact().unwrap();
        }
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
    let (settings, memory) = small();
    drop(FlashIndex::create(directory.path(), settings, memory).unwrap());
    let mut acknowledged: u64 = 0;
    for kill in 0..kills {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "nothing_acknowledged_is_lost_when_the_process_is_killed", "--nocapture"])
            .env(CHILD_DIRECTORY, directory.path())
            .env(CHILD_FIRST_KEY, (acknowledged + 1).to_string())
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
        let index = FlashIndex::open(directory.path(), memory).unwrap();
        let names: Vec<Vec<u8>> = (1..=acknowledged).map(key).collect();
        let wanted: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        for (n, found) in (1..).zip(index.get_many(&wanted).unwrap()) {
            // A deletion after the last acknowledgement may or may not have happened.
            let is_deleted = n % 10 == 0 && n + 1000 <= acknowledged;
            let may_be_deleted = n % 10 == 0 && n + 1000 > acknowledged;
            let expected = (!is_deleted).then(|| value(n, 1, 40));
            assert!(
                found == expected || (may_be_deleted && found.is_none()),
                "kill {kill}: key {n} of {acknowledged}"
            );
        }
    }
    assert!(acknowledged > 300 * u64::from(kills) / 4, "children were killed before they did anything");
    assert!(FlashIndex::open(directory.path(), memory).unwrap().verify().unwrap().is_sound());
}
