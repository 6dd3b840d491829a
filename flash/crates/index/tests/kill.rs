//! Kills real processes at random moments. The test starts itself as a child that puts records and prints how many are acknowledged.
//!
//! `SPRINGBLOOM_KILLS` sets how many children are killed (default 20).

mod support;

use std::path::Path;
use std::time::Duration;

use rand::RngExt;
use springbloom_flash_index::{FlashIndex, Watch};
use springbloom_testkit::kill::{acknowledge, kill_child, kills};
use springbloom_testkit::seed;
use support::{key, small, value};

/// The name of the test below, for the child's command line.
const TEST: &str = "nothing_acknowledged_is_lost_when_the_process_is_killed";

/// Puts until it is killed, printing how many keys are acknowledged.
fn child(directory: &Path, first_key: u64) {
    let index = FlashIndex::open(directory, small().1).unwrap();
    for n in first_key.. {
        index.put(&key(n), &value(n, 1, 40)).unwrap();
        if n >= 1000 && n % 10 == 0 {
            index.delete(&key(n - 1000)).unwrap();
        }
        if n % 300 == 0 {
            index.commit().unwrap();
            acknowledge(n);
        }
        if n % 5000 == 0 {
            index.compact(&mut Watch::none()).unwrap();
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    if let Some((directory, first_key)) = springbloom_testkit::kill::child() {
        return child(&directory, first_key);
    }
    let kills = kills();
    let mut rng = seed::rng(TEST);
    let directory = tempfile::tempdir().unwrap();
    let (settings, memory) = small();
    drop(FlashIndex::create(directory.path(), settings, memory).unwrap());
    let mut acknowledged: u64 = 0;
    for kill in 0..kills {
        let life = Duration::from_millis(rng.random_range(20..250));
        acknowledged = kill_child(TEST, directory.path(), acknowledged + 1, life).unwrap_or(acknowledged);
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
    assert!(
        FlashIndex::open(directory.path(), memory).unwrap().verify(&mut Watch::none()).unwrap().is_sound()
    );
}
