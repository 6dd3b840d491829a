//! Copies that a program makes of a filter that it has open.

mod common;

use std::sync::Arc;

use common::{keys, memory, small_buffer};
use springbloom_flash_filter::{
    BufferSettings, FilterSettings, FlashError, FlashFilter, FlushPolicy, Watch, WhenFull,
};
use springbloom_flash_testkit::{PowerLoss, SimPower, SimStorage, ending_after};

const POLICY: FlushPolicy = FlushPolicy::DirtiestGroupFirst;

fn has(filter: &FlashFilter, range: std::ops::Range<u64>) -> bool {
    filter.contains_many(&keys(1, range)).iter().all(|found| *found)
}

#[test]
fn a_copy_has_all_keys_and_both_go_on() {
    for settings in [
        FilterSettings::new(3000, 0.01).growing(true),
        FilterSettings::new(20_000, 0.01),
        FilterSettings::new(20_000, 0.01).logged(false),
    ] {
        let original = FlashFilter::create_in(memory(), &settings, small_buffer(POLICY)).unwrap();
        original.insert_many(&keys(1, 0..8000)).unwrap();
        let made = memory();
        let mut told = 0;
        let mut watch = Watch::new(|done, total| {
            told = done.max(told);
            assert!(done <= total);
            std::ops::ControlFlow::Continue(())
        });
        original.copy_in(&*made, &mut watch).unwrap();
        drop(watch);
        assert!(told > 0);
        original.insert_many(&keys(1, 8000..9000)).unwrap();
        let copy = FlashFilter::open_in(made, small_buffer(POLICY)).unwrap();
        assert!(has(&copy, 0..8000) && has(&original, 0..9000));
        assert!(!has(&copy, 8000..9000), "the copy stays as it was");
        copy.set_when_full(WhenFull::Exceed);
        copy.insert_many(&keys(1, 8000..9000)).unwrap();
        assert!(copy.verify(&mut Watch::none()).unwrap().is_sound() && has(&copy, 0..9000));
    }
}

#[test]
fn the_copy_of_what_a_killed_writer_left_can_be_made_by_a_reader() {
    let folder = tempfile::tempdir().unwrap();
    let (original, copy) = (folder.path().join("original"), folder.path().join("copy"));
    let buffer = BufferSettings::with_memory_bytes(1 << 20);
    let killed = FlashFilter::create(&original, &FilterSettings::new(20_000, 0.01), buffer).unwrap();
    killed.insert_many(&keys(1, 0..5000)).unwrap();
    killed.commit().unwrap();
    drop(killed);
    let reader = FlashFilter::open_read_only(&original, buffer).unwrap();
    assert!(!reader.is_recovered());
    reader.copy_to(&copy, &mut Watch::none()).unwrap();
    assert!(has(&FlashFilter::open(&copy, buffer).unwrap(), 0..5000));
}

#[test]
fn threads_insert_while_copies_are_made() {
    let folder = tempfile::tempdir().unwrap();
    let buffer = BufferSettings::with_memory_bytes(128 << 10);
    let settings = FilterSettings::new(60_000, 0.01);
    let filter = FlashFilter::create(&folder.path().join("original"), &settings, buffer).unwrap();
    let inserted = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for first in (0..50_000).step_by(100) {
                filter.insert_many(&keys(1, first..first + 100)).unwrap();
                inserted.store(first + 100, std::sync::atomic::Ordering::SeqCst);
                if first % 1000 == 0 {
                    filter.commit().unwrap();
                }
            }
        });
        for n in 0..8 {
            let before = inserted.load(std::sync::atomic::Ordering::SeqCst);
            let made = folder.path().join(n.to_string());
            filter.copy_to(&made, &mut Watch::none()).unwrap();
            assert!(has(&FlashFilter::open(&made, buffer).unwrap(), 0..before), "{n}");
        }
    });
}

#[test]
fn folders_that_hold_something_or_the_original_are_refused_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    let buffer = BufferSettings::with_memory_bytes(1 << 20);
    let filter = FlashFilter::create(&original, &FilterSettings::new(1000, 0.01), buffer).unwrap();
    filter.insert_many(&keys(1, 0..500)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&original, &link).unwrap();
    for within in
        [original.clone(), original.join("copy"), original.join("a/b"), link.clone(), link.join("copy")]
    {
        let refused = filter.copy_to(&within, &mut Watch::none()).unwrap_err();
        assert!(matches!(refused, FlashError::InvalidSetting { .. }), "{refused}");
    }
    assert_eq!(std::fs::read_dir(&original).unwrap().count(), 3, "nothing was made");
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("diary"), "mine").unwrap();
    let refused = filter.copy_to(&other, &mut Watch::none()).unwrap_err();
    assert!(matches!(refused, FlashError::NotEmpty { .. }), "{refused}");
    assert_eq!(std::fs::read(other.join("diary")).unwrap(), b"mine");
    assert!(filter.copy_to(&folder.path().join("new/deep"), &mut Watch::none()).is_ok());
    drop(filter);
    assert!(has(&FlashFilter::open(&original, buffer).unwrap(), 0..500));
}

#[test]
fn what_ends_early_or_fails_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let buffer = BufferSettings::with_memory_bytes(1 << 20);
    let settings = FilterSettings::new(1_000_000, 0.01);
    let filter = FlashFilter::create(&folder.path().join("original"), &settings, buffer).unwrap();
    for steps in 0..4 {
        let copy = folder.path().join("copy");
        let ended = filter.copy_to(&copy, &mut ending_after(steps));
        assert!(matches!(ended, Err(FlashError::Stopped)), "{steps}");
        assert!(!copy.exists());
    }
}

/// Every operation is the last one of some copy.
#[test]
fn a_copy_that_was_interrupted_does_not_open_unless_it_is_whole() {
    let filter =
        FlashFilter::create_in(memory(), &FilterSettings::new(6000, 0.01), small_buffer(POLICY)).unwrap();
    filter.insert_many(&keys(1, 0..3000)).unwrap();
    filter.flush().unwrap();
    filter.insert_many(&keys(1, 3000..4000)).unwrap();
    filter.commit().unwrap();
    for operations in 0.. {
        let made = SimStorage::new(SimPower::steady());
        made.power().cut_after(operations);
        let is_made = filter.copy_in(&made, &mut Watch::none()).is_ok();
        for loss in
            [PowerLoss::KILLED, PowerLoss::ALL_LOST, PowerLoss::WHOLE_SECTORS, PowerLoss::TORN_SECTORS]
        {
            let left = Arc::new(made.after_power_loss(loss, operations));
            match FlashFilter::open_in(left, small_buffer(POLICY)) {
                Ok(copy) => assert!(has(&copy, 0..4000), "{operations}, {loss:?}"),
                Err(error) => assert!(!is_made, "{operations}, {loss:?}: {error}"),
            }
        }
        if is_made {
            assert!(operations > 8);
            break;
        }
    }
}
