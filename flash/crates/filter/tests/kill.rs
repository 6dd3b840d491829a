//! Kills real processes at random moments. The test starts itself as a child that inserts keys and prints how many are acknowledged.
//!
//! `SPRINGBLOOM_KILLS` sets how many children are killed (default 20).

mod common;

use std::path::Path;
use std::time::Duration;

use common::keys;
use rand::RngExt;
use springbloom_flash_filter::{BufferSettings, FilterSettings, FlashFilter, Watch, WhenFull};
use springbloom_testkit::kill::{self, acknowledge, kill_child, kills};
use springbloom_testkit::seed;

/// The name of the test below, for the child's command line.
const TEST: &str = "nothing_acknowledged_is_lost_when_the_process_is_killed";

fn buffer() -> BufferSettings {
    BufferSettings { group_pages: 4, ..BufferSettings::with_memory_bytes(96 << 10) }
}

/// Inserts until it is killed, printing how many keys are acknowledged.
fn child(directory: &Path, first_key: u64) {
    let filter = FlashFilter::open(directory, buffer()).unwrap();
    filter.set_when_full(WhenFull::Exceed);
    for first in (first_key..).step_by(300) {
        filter.insert_many(&keys(1, first..first + 300)).unwrap();
        if first % 7 == 0 { filter.flush() } else { filter.commit() }.unwrap();
        acknowledge(first + 300);
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    if let Some((directory, first_key)) = kill::child() {
        return child(&directory, first_key);
    }
    let kills = kills();
    let mut rng = seed::rng(TEST);
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = 0;
    drop(FlashFilter::create(directory.path(), &FilterSettings::new(500_000, 0.01), buffer()).unwrap());
    for kill in 0..kills {
        let life = Duration::from_millis(rng.random_range(20..250));
        acknowledged = kill_child(TEST, directory.path(), acknowledged, life).unwrap_or(acknowledged);
        // What is read without recovering it is counted.
        if let Ok(filter) = FlashFilter::open_read_only(directory.path(), buffer()) {
            let info = filter.info();
            assert!(info.insertions >= acknowledged, "kill {kill}: {info:?}, {acknowledged} acknowledged");
            let held = info.layers[0].estimated_keys;
            assert!(held >= 0.98 * acknowledged as f64, "kill {kill}: {info:?}, {acknowledged} acknowledged");
            assert!(held < 1.02 * info.insertions as f64 + 1000.0, "kill {kill}: {info:?}");
        }
        let Ok(filter) = FlashFilter::open(directory.path(), buffer()) else {
            assert_eq!(acknowledged, 0, "kill {kill}: a filter with acknowledged keys does not open");
            continue;
        };
        let lost = filter.contains_many(&keys(1, 0..acknowledged)).iter().filter(|found| !**found).count();
        assert_eq!(lost, 0, "kill {kill}: of {acknowledged} keys");
    }
    assert!(acknowledged > 300 * u64::from(kills) / 4, "children were killed before they did anything");
    let filter = FlashFilter::open(directory.path(), buffer()).unwrap();
    assert!(filter.verify(&mut Watch::none()).unwrap().is_sound());
}
