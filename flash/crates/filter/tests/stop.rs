//! Calls that their caller ends early, at every step: nothing acknowledged is lost, and what was not finished is finished by the next one.

mod common;

use std::sync::Arc;

use common::{keys, memory, small_buffer};
use springbloom_flash_filter::{FilterSettings, FlashError, FlashFilter, FlushPolicy, Watch, WhenFull};
use springbloom_flash_testkit::{PowerLoss, SimStorage, ending_after};
use springbloom_page_device::{FileStorage, Storage};

const POLICY: FlushPolicy = FlushPolicy::DirtiestGroupFirst;
const KEYS: u64 = 20_000;

/// Calls `work` with one step more each time, until it is not stopped. Returns how often it was.
fn stopped_at_each_step(mut work: impl FnMut(&mut Watch<'_>, u64) -> Result<(), FlashError>) -> u64 {
    for steps in 0.. {
        match work(&mut ending_after(steps), steps) {
            Err(FlashError::Stopped) => {}
            done => {
                done.unwrap();
                return steps;
            }
        }
    }
    unreachable!()
}

fn filled(storage: &Arc<SimStorage>) -> FlashFilter {
    let settings = FilterSettings::new(KEYS, 0.01);
    let filter = FlashFilter::create_in(storage.clone(), &settings, small_buffer(POLICY)).unwrap();
    filter.insert_many(&keys(1, 0..KEYS)).unwrap();
    filter
}

fn assert_all(filter: &FlashFilter, what: &str) {
    assert!(filter.contains_many(&keys(1, 0..KEYS)).iter().all(|found| *found), "{what}");
}

#[test]
fn a_closing_that_is_stopped_has_made_everything_durable() {
    let stopped = stopped_at_each_step(|watch, steps| {
        let storage = memory();
        let closed = filled(&storage).close_watched(watch);
        for loss in [PowerLoss::KILLED, PowerLoss::ALL_LOST] {
            let survived = Arc::new(storage.after_power_loss(loss, steps));
            let what = format!("{steps} steps, {loss:?}");
            let reader = SimStorage::after_power_loss(&survived, PowerLoss::KILLED, 1);
            assert_all(&FlashFilter::open_in(Arc::new(reader), small_buffer(POLICY)).unwrap(), &what);
        }
        closed
    });
    assert!(stopped > 0, "{stopped}");
}

#[test]
fn an_opening_that_is_stopped_leaves_all_to_the_next_one() {
    let storage = memory();
    let filter = filled(&storage);
    filter.commit().unwrap();
    drop(filter);
    let killed = Arc::new(storage.after_power_loss(PowerLoss::KILLED, 1));
    let stopped = stopped_at_each_step(|watch, steps| {
        let copy = Arc::new(killed.after_power_loss(PowerLoss::KILLED, 1));
        let opened = FlashFilter::open_watched(copy.clone(), small_buffer(POLICY), watch).map(drop);
        assert_all(&FlashFilter::open_in(copy, small_buffer(POLICY)).unwrap(), &format!("{steps} steps"));
        opened
    });
    assert!(stopped > 0, "{stopped}");
}

#[test]
fn a_verification_that_is_stopped_changes_nothing() {
    let storage = memory();
    let filter = filled(&storage);
    let stopped = stopped_at_each_step(|watch, _| {
        let report = filter.verify(watch)?;
        assert!(report.is_sound());
        Ok(())
    });
    assert!(stopped > 0, "{stopped}");
    filter.insert_many(&keys(1, 0..10)).unwrap();
    assert_all(&filter, "verified");
}

#[test]
fn a_making_that_is_stopped_leaves_no_file_and_no_folder() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("new/set");
    let settings = FilterSettings::new(KEYS, 0.01);
    let stopped = stopped_at_each_step(|watch, steps| {
        let made = FileStorage::make(&folder, |storage| {
            FlashFilter::create_watched(storage, &settings, small_buffer(POLICY), watch)
        });
        assert!(made.is_ok() || !directory.path().join("new").exists(), "{steps} steps");
        made.map(drop)
    });
    assert!(stopped > 0, "{stopped}");
}

#[test]
fn a_growth_that_is_stopped_leaves_no_file_and_is_made_by_the_next_insertion() {
    let more = keys(2, 0..KEYS);
    let stopped = stopped_at_each_step(|watch, steps| {
        let storage = memory();
        let filter = filled(&storage);
        filter.set_when_full(WhenFull::Grow);
        let names = storage.names().unwrap();
        let grown = filter.insert_watched(&more, watch);
        let what = format!("{steps} steps");
        assert_eq!(storage.names().unwrap().len(), names.len() + usize::from(grown.is_ok()), "{what}");
        assert_all(&filter, &what);
        if grown.is_err() {
            assert_eq!(filter.info().layers.len(), 1, "{what}");
            filter.insert_many(&more).unwrap();
        }
        assert!(filter.contains_many(&more).iter().all(|found| *found), "{what}");
        filter.commit().unwrap();
        drop(filter);
        let filter = FlashFilter::open_in(storage, small_buffer(POLICY)).unwrap();
        assert_all(&filter, &what);
        assert!(filter.contains_many(&more).iter().all(|found| *found), "{what}");
        grown
    });
    assert!(stopped > 0, "{stopped}");
}
